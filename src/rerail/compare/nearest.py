"""The recorded request most like one that was not found. Looks at few, never at all.

Position says most: the first unused request of the endpoint is where an unchanged run would be. A
few after it are weighed by how much their bytes begin and end alike, since an agent sends its whole
history again each turn.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from rerail.compare.words import common_prefix

LOOKED_AT: Final = 8
"""Recorded requests whose bodies are read."""
_FIRST_IN_LINE: Final = 0.1


class Candidate(Protocol):
    """A recorded request whose body can be read when it is wanted."""

    def content(self) -> bytes | None:
        """The body, or None where it is too large to be looked at."""


C = TypeVar("C", bound=Candidate)


def nearest(candidates: Sequence[C], body: bytes | None) -> C | None:
    """The most like of the first few candidates; the first has an advantage."""
    few = candidates[:LOOKED_AT]
    if not few or body is None or len(few) == 1:
        return few[0] if few else None
    scores = [likeness(candidate.content(), body) for candidate in few]
    scores[0] += _FIRST_IN_LINE
    return few[scores.index(max(scores))]


def likeness(recorded: bytes | None, now: bytes) -> float:
    """0 to 1: the share of the longer body that both begin or end with."""
    if recorded is None:
        return 0.0
    longest = max(len(recorded), len(now))
    if not longest:
        return 1.0
    start = common_prefix(recorded, now)
    end = common_prefix(recorded[start:][::-1], now[start:][::-1])
    return (start + end) / longest
