"""Medians, ratios and goals. Pure: it must not know what was measured or how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, Self


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, and how far they lie apart."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Raises ValueError where there are no values."""
        if not values:
            raise ValueError("there is no median of nothing")
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound for the ratio to the peer, or for rerail's own value (then with a unit)."""

    subject: Literal["ratio", "value"]
    relation: Literal["at most", "at least"]
    bound: float

    def met(self, reached: float) -> bool:
        """Whether this number is on the right side of the bound."""
        return reached <= self.bound if self.relation == "at most" else reached >= self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. What could not be measured is None."""

    metric: str
    unit: str
    rerail: Spread | None
    peer: Spread | None = None
    direct: Spread | None = None
    ratio: Spread | None = None
    goal: Goal | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the goal is met; None where there is none, or nothing to compare."""
        if self.goal is None:
            return None
        measured = self.ratio if self.goal.subject == "ratio" else self.rerail
        return None if measured is None else self.goal.met(measured.median)


class Rounds:
    """What was found, round by round. Who missed a round has no place beside the others."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._found: dict[tuple[str, ...], list[Mapping[str, float | None]]] = {}

    def add(self, key: tuple[str, ...], findings: Mapping[str, float | None]) -> None:
        """Keep one round's findings."""
        self._found.setdefault(key, []).append(findings)

    def values(self, key: tuple[str, ...], finding: str) -> list[float]:
        """One value a round, or none at all where a round is missing."""
        rounds = self._found.get(key, [])
        values = [value for each in rounds if (value := each.get(finding)) is not None]
        return values if len(values) == self._count else []

    def added(self, key: tuple[str, ...], base: tuple[str, ...], finding: str) -> list[float]:
        """What each round has more than the base of the same round."""
        pairs = zip(self.values(key, finding), self.values(base, finding), strict=False)
        return [value - by for value, by in pairs]


def paired_ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """The ratio of each round: what slows a whole round down cancels out of its ratio.

    A round in which the peer's value is not above zero has no ratio.
    """
    return [our / their for our, their in zip(ours, theirs, strict=True) if their > 0]


def row(
    metric: str,
    unit: str,
    *,
    rerail: Sequence[float],
    peer: Sequence[float] = (),
    direct: Sequence[float] = (),
    goal: Goal | None = None,
) -> Row:
    """A row from the values of the rounds, in their order; empty where nothing was measured."""
    ratios = paired_ratios(rerail, peer) if rerail and peer else []
    return Row(
        metric=metric,
        unit=unit,
        rerail=Spread.of(rerail) if rerail else None,
        peer=Spread.of(peer) if peer else None,
        direct=Spread.of(direct) if direct else None,
        ratio=Spread.of(ratios) if ratios else None,
        goal=goal,
    )
