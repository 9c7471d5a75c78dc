"""Which record must stand before which, whatever clocks say. Knows kinds of records, no source.

Two reasons, and no third: an identifier is made before it is used, and an answer is given before
somebody is told it. What merely follows by a protocol is no cause: the protocol may be what broke.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from rerail.trace.record import CaseSource, Record

Stage = Literal["made", "used", "answered", "told", "after"]
"""`after`: behind the making of the identifier, and before nothing that we know of."""

_CHAIN: Final[Sequence[Stage]] = ("made", "used", "answered", "told")

_STAGES: Final[Mapping[str, Mapping[str, Stage]]] = {
    "http.request": {"request": "made"},
    "request.received": {"request": "used"},
    "request.answered": {"request": "answered"},
    "http.reply.head": {"request": "told"},
    "call.asked": {"call": "made"},
    "call.received": {"call": "used"},
    "call.answered": {"call": "answered"},
    "call.told": {"call": "told"},
    "run.started": {"run": "made"},
    "run.ended": {"tape": "made"},
    "proposal.made": {"proposal": "made"},
    "approval.requested": {"approval": "made"},
    "approval.decided": {"approval": "answered"},
    "approval.consumed": {"approval": "told"},
    "action.attempted": {"attempt": "made", "approval": "told"},
    "target.received": {"attempt": "used"},
    "target.accepted": {"attempt": "answered"},
    "target.rejected": {"attempt": "answered"},
}


class Place(NamedTuple):
    """A record's place: its source (an index) and its order there."""

    source: int
    order: int


class Cause(NamedTuple):
    """`before` must stand before `after`; the walls are those of their sources' own clocks."""

    before: Place
    after: Place
    walls: tuple[int | None, int | None]


class _Seen(NamedTuple):
    place: Place
    stage: Stage
    wall: int | None


def stages(record: Record) -> Iterator[tuple[tuple[str, str], Stage]]:
    """What a record's identifiers say of its place."""
    known = _STAGES.get(record.kind, {})
    for identifier in record.ids:
        stage = known.get(identifier[0], "after")
        if record.kind == "action.result" and identifier[0] == "attempt":
            # An applier that gave up waiting was told nothing: the target may answer later.
            stage = "after" if record.fields.get("outcome") == "unknown" else "told"
        yield identifier, stage


def causes(sources: Sequence[CaseSource]) -> list[Cause]:
    """All causes that lead from one source to another; within a source its order is the cause."""
    if len(sources) < 2:
        return []
    seen: dict[tuple[str, str], list[_Seen]] = defaultdict(list)
    for index, source in enumerate(sources):
        for record in source.records(worded=False):
            for identifier, stage in stages(record):
                _note(seen[identifier], _Seen(Place(index, record.order), stage, record.wall))
    shared = (found for found in seen.values() if len({one.place.source for one in found}) > 1)
    return [cause for found in shared for cause in _between(found)]


def _note(found: list[_Seen], new: _Seen) -> None:
    """An identifier that stands in every record of a run is made once; its uses need no list."""
    if new.stage != "after" or not any(
        one.stage == "after" and one.place.source == new.place.source for one in found
    ):
        found.append(new)


def _between(found: Iterable[_Seen]) -> Iterator[Cause]:
    """From the first of each stage in a source to each of the next stage in another one.

    A request may be sent twice under one identifier: only the first is surely before.
    """
    by_stage: dict[Stage, list[_Seen]] = defaultdict(list)
    for one in found:
        by_stage[one.stage].append(one)
    present = [stage for stage in _CHAIN if stage in by_stage]
    steps = list(pairwise(present))
    if "made" in by_stage and "after" in by_stage:
        steps.append(("made", "after"))
    for earlier, later in steps:
        firsts = {one.place.source: one for one in reversed(by_stage[earlier])}
        for after in by_stage[later]:
            for before in firsts.values():
                if before.place.source != after.place.source:
                    yield Cause(before.place, after.place, (before.wall, after.wall))
