"""What a link check is: its question, how it stands, why, and what is broken. Knows no check."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rerail.trace.finding import Category, Evidence, Finding
from rerail.trace.gathered import Gathered, at
from rerail.trace.record import Record
from rerail.trace.story import Story

Standing = Literal["holds", "broken", "cannot be checked"]


@dataclass(frozen=True, slots=True)
class Link:
    """One check: its question, how it stands, why, the records that show it, and what is broken."""

    number: int
    question: str
    standing: Standing
    because: str
    evidence: tuple[Evidence, ...] = ()
    broken: tuple[Finding, ...] = ()


TOLD: Final = 3
"""Records, or broken places, that one line names at most."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check to be made: its question, whose assumption breaks with it, and how it looks."""

    number: int
    name: str
    question: str
    category: Category
    look: Callable[["Check", Gathered, Sequence[Story]], Link]

    def holds(self, because: str, *records: Record | None) -> Link:
        """It holds."""
        return self._link("holds", because, records)

    def unknown(self, because: str, *records: Record | None) -> Link:
        """It cannot be checked, because of this."""
        return self._link("cannot be checked", because, records)

    def broken(self, found: Sequence[Finding]) -> Link:
        """It is broken, in these places."""
        evidence = tuple(dict.fromkeys(place for one in found for place in one.evidence))
        what = "; ".join(one.what for one in found[:TOLD])
        return Link(self.number, self.question, "broken", what, evidence, tuple(found))

    def finding(self, what: str, record: Record, *others: Record | None, states: str) -> Finding:
        """One broken place, as a finding."""
        evidence = [at(record), *(at(other) for other in others if other is not None)]
        return Finding(
            self.name, self.category, "linkage", what, tuple(evidence), record.order, states
        )

    def _link(self, standing: Standing, because: str, records: Iterable[Record | None]) -> Link:
        evidence = tuple(at(record) for record in records if record is not None)
        return Link(self.number, self.question, standing, because, evidence)
