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
    """One run of words that differs: `recorded` became `now`, between `before` and `after`.

    Those are the words around it now; where other ones stood there, they are in `recorded_…`.
    """

    before: str
    recorded: str
    now: str
    after: str
    recorded_before: str | None = None
    recorded_after: str | None = None

    @property
    def old(self) -> tuple[str, str, str]:
        """The recorded text: before, the run itself, after."""
        before, after = self.recorded_before, self.recorded_after
        return (
            self.before if before is None else before,
            self.recorded,
            self.after if after is None else after,
        )

    @property
    def marked(self) -> tuple[str, str]:
        """Both texts on a line, the run in `[-…-]` and `{+…+}`; where there is none, no mark."""
        before, recorded, after = self.old
        return (
            before + (f"[-{recorded}-]" if recorded else "") + after,
            self.before + (f"{{+{self.now}+}}" if self.now else "") + self.after,
        )


def word_changes(recorded: str, now: str) -> tuple[WordChange, ...]:
    """The changed runs in order, at most `CHANGES` of them."""
    old, new = _WORD.findall(recorded), _WORD.findall(now)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    runs = _runs(old[start : len(old) - end], new[start : len(new) - end])
    return tuple(
        _change(_around(old, start + o1, start + o2), _around(new, start + n1, start + n2))
        for o1, o2, n1, n2 in runs[:CHANGES]
    )


_Around = tuple[str, str, str]


def _around(words: list[str], start: int, end: int) -> _Around:
    """What stands before a run of words, the run, and what stands after it."""
    before, after = words[max(0, start - CONTEXT) : start], words[end : end + CONTEXT]
    return "".join(before), "".join(words[start:end]), "".join(after)


def _change(old: _Around, new: _Around) -> WordChange:
    """A long run is narrowed to the characters that differ: some scripts put no blanks."""
    recorded, now = old[1], new[1]
    start = end = 0
    if max(len(recorded), len(now)) > CUT:
        start = common_prefix(recorded, now)
        end = common_prefix(recorded[start:][::-1], now[start:][::-1])
    old, new = _narrowed(old, start, end), _narrowed(new, start, end)
    return WordChange(
        before=new[0],
        recorded=shorten(old[1], CUT),
        now=shorten(new[1], CUT),
        after=new[2],
        recorded_before=old[0] if old[0] != new[0] else None,
        recorded_after=old[2] if old[2] != new[2] else None,
    )


def _narrowed(text: _Around, start: int, end: int) -> _Around:
    """So many characters of the run's two ends belong to what is around it, which is cut short."""
    before, run, after = text
    before, after = before + run[:start], run[len(run) - end :] + after
    return (
        before if len(before) <= CONTEXT else "…" + before[-CONTEXT:],
        run[start : len(run) - end],
        after if len(after) <= CONTEXT else after[:CONTEXT] + "…",
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
