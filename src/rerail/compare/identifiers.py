"""How an opaque identifier looks, and whether two of them may be two makings of one.

An identifier here is a UUID, a ULID, hexadecimal of eight digits or more, a long mix of letters and
digits, or a time since 1970 inside a name, each on its own or behind a prefix (`msg_…`, `call-…`).
Knows texts alone: where an identifier came from is not asked here.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

LONGEST: Final = 200
"""Characters past which a run of letters and digits is content (base64, say), and no identifier."""
DIGESTS: Final = frozenset((40, 56, 64, 96, 128))
"""Lengths of git's and SHA's digests in hexadecimal: these say something of a content."""
_UUID_HEX: Final = re.compile(r"(?i:[0-9a-f]{12}[1-8][0-9a-f]{3}[89ab][0-9a-f]{15})")
"""A UUID without its dashes has its version and variant; without these it may be an MD5."""

_UUID_DIGITS: Final = 32
_LONG: Final = 16
_FEWEST: Final = 3
"""Different characters that something made at random has."""
_COUNTED: Final = "0000"
"""How a number of fixed width begins: `0000001a` counts something."""
_SHARE_OF_TURNS: Final = 0.4

_RUN: Final = re.compile(r"[0-9A-Za-z_-]{8,}")
_PART: Final = re.compile(
    r"(?<![0-9A-Za-z])(?:"
    r"(?P<uuid>[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"
    r"|(?:0x)?(?P<part>[0-9A-Za-z]{8,})"
    r")(?![0-9A-Za-z])"
)
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_LETTER: Final = re.compile(r"[A-Za-z]")
_DIGIT: Final = re.compile(r"[0-9]")
_TURN: Final = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")
_EPOCHS: Final = {10: 1, 13: 10**3, 16: 10**6, 19: 10**9}
_FIRST_SECOND, _LAST_SECOND = 1_400_000_000, 2_600_000_000


class Found(NamedTuple):
    """An identifier at a place of a text. Those of one `kind` are of one length."""

    start: int
    end: int
    kind: str


def identifiers(text: str) -> Iterator[Found]:
    """What looks like an identifier, in order. Takes time in proportion to the text."""
    for match in _RUN.finditer(text):
        run, start = match[0], match.start()
        if len(run) < _LONG and run.isalpha():
            continue
        if start and text[start - 1] == "\\" and run[0] in "nrtbf":
            # JSON inside a string: the letter belongs to an escaped line end or tab.
            run, start = run[1:], start + 1
        if len(run) <= LONGEST:
            yield from _in_run(run, start)


def _in_run(run: str, start: int) -> Iterator[Found]:
    for match in _PART.finditer(run):
        if match["uuid"]:
            yield Found(start + match.start(), start + match.end(), "uuid")
            continue
        kind = _kind(match["part"], run)
        if kind:
            yield Found(start + match.start("part"), start + match.end("part"), kind)


def _kind(part: str, run: str) -> str:
    if part.isdigit() and _is_epoch(part) and _LETTER.search(run):
        return f"epoch{len(part)}"
    if _HEX.fullmatch(part):
        return f"hex{len(part)}"
    return f"mixed{len(part)}" if len(part) >= _LONG else ""


def _is_epoch(digits: str) -> bool:
    """Whether this could be a time of our days, in seconds or parts of a second since 1970."""
    unit = _EPOCHS.get(len(digits))
    return unit is not None and _FIRST_SECOND <= int(digits) // unit <= _LAST_SECOND


def may_be_renamed(kind: str, old: str, new: str) -> bool:
    """Whether two identifiers of one kind both look made up, so that one may stand for the other.

    Numbers never do, nor digests of contents, nor words that happen to be long.
    """
    if any(len(set(text)) < _FEWEST or text.startswith(_COUNTED) for text in (old, new)):
        return False
    if kind == "uuid" or kind.startswith("epoch"):
        return True
    if kind.startswith("hex"):
        return not _may_be_digests(old, new) and _is_made_hex(old, new)
    if _ULID.fullmatch(old) and _ULID.fullmatch(new):
        return True
    return _is_random_mix(old, new)


def _may_be_digests(old: str, new: str) -> bool:
    if len(old) == _UUID_DIGITS:
        return not (_UUID_HEX.fullmatch(old) and _UUID_HEX.fullmatch(new))
    return len(old) in DIGESTS


def _is_made_hex(old: str, new: str) -> bool:
    """One of both shows letters and digits: two numbers, or two words, are no identifiers."""
    return any(_LETTER.search(text) and _DIGIT.search(text) for text in (old, new))


def _is_random_mix(old: str, new: str) -> bool:
    """Capitals, small letters and digits, in such turns as no words joined together have."""
    turns = len(_TURN.findall(old)) + len(_TURN.findall(new))
    cased = all(text != text.lower() and text != text.upper() for text in (old, new))
    digits = _DIGIT.search(old) or _DIGIT.search(new)
    return cased and bool(digits) and turns >= _SHARE_OF_TURNS * (len(old) + len(new) - 2)
