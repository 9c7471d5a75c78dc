"""Which sources belong to a case: those whose records share an identifier with it. Fills no gap."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from rerail.trace.record import IDENTIFIERS, CaseSource

_OF_ONE_RUN: Final = frozenset(IDENTIFIERS) - {"task"}
"""A task has many runs: sharing the task alone joins nothing."""


@dataclass(frozen=True, slots=True)
class Joined:
    """How a source is joined: by which identifiers, and how many of its records carry them."""

    by: tuple[str, ...]
    records: int


def identifiers(sources: Sequence[CaseSource]) -> set[tuple[str, str]]:
    """All identifiers that the records of a case carry."""
    return {
        identifier
        for source in sources
        for record in source.records(worded=False)
        for identifier in record.ids
        if identifier[0] in _OF_ONE_RUN
    }


def joined(source: CaseSource, known: Collection[tuple[str, str]]) -> Joined:
    """What joins a source to the identifiers of a case; nothing where none is shared."""
    shared: dict[str, None] = {}
    count = 0
    for record in source.records(worded=False):
        own = [f"{name} {value}" for name, value in record.ids if (name, value) in known]
        count += bool(own)
        shared.update(dict.fromkeys(own))
    return Joined(tuple(shared), count)
