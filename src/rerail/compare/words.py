"""Which words of a text changed, with a few around them, short enough to be shown to a person."""

import re
from difflib import SequenceMatcher
from typing import AnyStr, Final

from msgspec import Struct

CONTEXT: Final = 40
"""Characters shown on each side of a change."""
CUT: Final = 200
"""Characters of a changed run of words that are shown."""
CHANGES: Final = 12
"""Changes of one text that are shown; the rest is in its length."""

_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
_COMPARED: Final = 600


class WordChange(Struct, frozen=True, omit_defaults=True):
    """One run of words that differs: `recorded` became `now`, between `before` and `after`."""

    before: str
    recorded: str
    now: str
    after: str


def word_changes(recorded: str, now: str) -> tuple[WordChange, ...]:
    """The changed runs in order, at most `CHANGES` of them."""
    old, new = _WORD.findall(recorded), _WORD.findall(now)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    runs = _runs(old[start : len(old) - end], new[start : len(new) - end])
    return tuple(
        _change(
            "".join(new[max(0, start + n1 - CONTEXT) : start + n1]),
            "".join(old[start + o1 : start + o2]),
            "".join(new[start + n1 : start + n2]),
            "".join(new[start + n2 : start + n2 + CONTEXT]),
        )
        for o1, o2, n1, n2 in runs[:CHANGES]
    )


def _change(before: str, recorded: str, now: str, after: str) -> WordChange:
    """A long run is narrowed to the characters that differ: some scripts put no blanks."""
    if max(len(recorded), len(now)) > CUT:
        start = common_prefix(recorded, now)
        end = common_prefix(recorded[start:][::-1], now[start:][::-1])
        before += recorded[:start]
        after = recorded[len(recorded) - end :] + after
        recorded, now = recorded[start : len(recorded) - end], now[start : len(now) - end]
    return WordChange(
        before=before if len(before) <= CONTEXT else "…" + before[-CONTEXT:],
        recorded=shorten(recorded, CUT),
        now=shorten(now, CUT),
        after=after if len(after) <= CONTEXT else after[:CONTEXT] + "…",
    )


def _common(old: list[str], new: list[str]) -> int:
    """How many words two lists begin with alike."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def _runs(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """What changed between two lists that begin and end differently.

    Runs that only a blank or one short word keeps apart are one. Past a bound the whole is one
    change: comparing costs the square of the length, and nobody reads so many words.
    """
    if not old or not new or len(old) > _COMPARED or len(new) > _COMPARED:
        return [(0, len(old), 0, len(new))]
    runs: list[tuple[int, int, int, int]] = []
    for tag, o1, o2, n1, n2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if runs and o1 - runs[-1][1] <= 2 and n1 - runs[-1][3] <= 2:
            runs[-1] = (runs[-1][0], o2, runs[-1][2], n2)
        else:
            runs.append((o1, o2, n1, n2))
    return runs


def common_prefix(old: AnyStr, new: AnyStr) -> int:
    """How many characters or bytes two texts begin with alike."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def grouped(number: int) -> str:
    """`1 234 567`: digits as the command line groups them too."""
    return f"{number:,}".replace(",", " ")


def shorten(text: str, limit: int) -> str:
    """The text, its middle left out and counted where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 4
    return f"{text[:head]}… ({grouped(len(text) - head - tail)} characters) …{text[-tail:]}"
