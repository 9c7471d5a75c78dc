"""How far the clocks of sources are apart, as far as causes bound it. Pure arithmetic.

A cause stands before its effect in truth, so that the difference of the two clocks has a bound; a
request and its answer bound it from both sides (the way of NTP, RFC 5905). Clocks are taken to be
steady over a run; where the bounds contradict each other they are not, and nothing is made of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isinf
from typing import Self

from rerail.trace.causes import Cause


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a clock is ahead of the first source's: `ahead` nanoseconds, give or take `error`.

    `error` is infinite where only one side is bounded, or none.
    """

    ahead: float
    error: float


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of a case's sources; `steady` is false where no fixed difference fits."""

    each: tuple[Clock, ...]
    steady: bool = True

    @classmethod
    def read(cls, count: int, causes: Iterable[Cause]) -> Self:
        """Work them out for `count` sources."""
        most = [[0.0 if a == b else inf for b in range(count)] for a in range(count)]
        for cause in causes:
            before, after = cause.walls
            if before is not None and after is not None:
                row, column = cause.before.source, cause.after.source
                most[row][column] = min(most[row][column], float(after - before))
        _shortest(most)
        if any(most[source][source] < 0 for source in range(count)):
            return cls(tuple(Clock(0, inf) for _ in range(count)), steady=False)
        return cls(tuple(_clock(-most[source][0], most[0][source]) for source in range(count)))

    def true(self, source: int, wall: int) -> float:
        """A time of a source, by the first source's clock."""
        return wall - self.each[source].ahead

    def error(self, one: int, other: int) -> float:
        """How far two times of two sources must be apart for their order to be known."""
        return 0 if one == other else self.each[one].error + self.each[other].error


def _shortest(most: Sequence[list[float]]) -> None:
    """`most[a][b]`: how far b's clock can be ahead of a's (Floyd and Warshall)."""
    everybody = range(len(most))
    for middle in everybody:
        for start in everybody:
            for end in everybody:
                through = most[start][middle] + most[middle][end]
                most[start][end] = min(most[start][end], through)


def _clock(least: float, most: float) -> Clock:
    if isinf(least) or isinf(most):
        return Clock(min(max(0, least), most), inf)
    return Clock((least + most) / 2, (most - least) / 2)
