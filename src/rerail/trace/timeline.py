"""The records of several sources in one order: by sequence within each, by causes between them.

Timestamps only break ties, and that is marked. Where neither says, the two orders stand beside each
other with what would tell them apart; none is chosen because it suits an explanation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from rerail.trace.causes import Cause, Place, causes
from rerail.trace.clocks import Clocks
from rerail.trace.record import CaseSource, Record

By = Literal["sequence", "cause", "clock", "unknown", "contradiction"]
"""What put a line behind the one before it. `contradiction`: a cause stands behind its effect."""

_TOO_WIDE: Final = ("run", "task", "tape")
_MANY: Final = ("request", "call")
"""Identifiers of which a run may have a million: only the latest record of each is remembered."""
_REMEMBERED: Final = 8
_TELLS_APART: Final[dict[frozenset[str], str]] = {
    frozenset(("target.accepted", "action.result")): "the target's own log of when it answered "
    "this attempt, or a read of the target from before the runner gave up",
    frozenset(("target.received", "action.result")): "the target's own log of when this attempt "
    "reached it",
    frozenset(("target.accepted", "target.read")): "a version or time of change in what was read",
    frozenset(("approval.decided", "action.attempted")): "the approver's record of the decision, "
    "with the attempt or the time by the applier's clock",
}
_ELSE: Final = "an identifier that one made and the other names, or both read against one clock"


@dataclass(frozen=True, slots=True)
class Competing:
    """Two records whose order no evidence tells, and what would."""

    one: Record
    other: Record
    tells_apart: str


@dataclass(frozen=True, slots=True)
class Line:
    """One record in the merged order, and what put it there."""

    record: Record
    by: By = "sequence"
    competing: tuple[Competing, ...] = ()


@dataclass(slots=True)
class _Lane:
    """One source while it is merged: what is known to stand before its next record."""

    index: int
    records: Iterator[Record]
    head: Record | None = None
    time: float = 0
    known: list[int] = field(default_factory=list)

    def go_on(self, clocks: Clocks) -> None:
        self.head = next(self.records, None)
        if self.head is not None and self.head.wall is not None:
            self.time = clocks.true(self.index, self.head.wall)


@dataclass(frozen=True, slots=True)
class Order:
    """What orders several sources: the causes between them, and what these say of their clocks."""

    causes: Sequence[Cause]
    clocks: Clocks

    @classmethod
    def of(cls, sources: Sequence[CaseSource]) -> Self:
        """Read the sources for it, once."""
        found = causes(sources)
        return cls(found, Clocks.read(len(sources), found))


def timeline(
    sources: Sequence[CaseSource], *, order: Order | None = None, worded: bool = True
) -> Iterator[Line]:
    """All records in order, as a stream; `order` where it is known already."""
    if len(sources) == 1:
        for record in sources[0].records(worded=worded):
            yield Line(record)
        return
    known = order or Order.of(sources)
    yield from _Merge(sources, known.causes, known.clocks, worded).lines()


class _Merge:
    """Of the heads whose causes have all been told, the earliest comes next."""

    def __init__(
        self, sources: Sequence[CaseSource], found: Sequence[Cause], clocks: Clocks, worded: bool
    ) -> None:
        self._clocks = clocks
        self._causes: dict[Place, list[Place]] = {}
        for cause in found:
            self._causes.setdefault(cause.after, []).append(cause.before)
        self._is_cause = {cause.before for cause in found}
        self._known_at: dict[Place, list[int]] = {}
        self._latest: dict[tuple[tuple[str, str], int], list[tuple[Record, float]]] = {}
        self._lanes = [
            _Lane(index, source.records(worded=worded), known=[0] * len(sources))
            for index, source in enumerate(sources)
        ]

    def lines(self) -> Iterator[Line]:
        for lane in self._lanes:
            lane.go_on(self._clocks)
        before: _Lane | None = None
        before_time = 0.0
        while waiting := [lane for lane in self._lanes if lane.head is not None]:
            ready = [lane for lane in waiting if self._is_ready(lane)]
            lane = min(ready or waiting, key=lambda lane: (lane.time, lane.index))
            record, time = lane.head, lane.time
            assert record is not None
            self._learn(lane, record)
            by: By = "contradiction" if not ready else "sequence"
            if ready and before is not None and before is not lane:
                by = self._by(before, before_time, lane)
            yield Line(record, by, tuple(self._competing(lane, record)))
            self._remember(lane, record)
            before, before_time = lane, time
            lane.go_on(self._clocks)

    def _is_ready(self, lane: _Lane) -> bool:
        assert lane.head is not None
        needed = self._causes.get(Place(lane.index, lane.head.order), ())
        return all(self._lanes[place.source].known[place.source] >= place.order for place in needed)

    def _learn(self, lane: _Lane, record: Record) -> None:
        """A record stands behind all that its causes stood behind, and behind them."""
        place = Place(lane.index, record.order)
        for cause in self._causes.get(place, ()):
            known = self._known_at.get(cause)
            if known is not None:
                lane.known = [max(pair) for pair in zip(lane.known, known, strict=True)]
        lane.known[lane.index] = record.order
        if place in self._is_cause:
            self._known_at[place] = list(lane.known)

    def _by(self, before: _Lane, before_time: float, lane: _Lane) -> By:
        """Why a record follows one of another source."""
        if lane.known[before.index] >= before.known[before.index]:
            return "cause"
        error = self._clocks.error(before.index, lane.index)
        return "clock" if lane.time - before_time > error else "unknown"

    def _competing(self, lane: _Lane, record: Record) -> Iterator[Competing]:
        """The latest records of each other source with the same identifier whose order is open."""
        told = set()
        for identifier in record.ids:
            if identifier[0] in _TOO_WIDE:
                continue
            for other in self._lanes:
                if other is lane:
                    continue
                for earlier, time in self._latest.get((identifier, other.index), ()):
                    apart = lane.time - time
                    known = lane.known[other.index] >= earlier.order
                    near = apart <= self._clocks.error(lane.index, other.index)
                    if not known and near and (other.index, earlier.ref) not in told:
                        told.add((other.index, earlier.ref))
                        yield Competing(earlier, record, _what_tells(earlier, record))

    def _remember(self, lane: _Lane, record: Record) -> None:
        for identifier in record.ids:
            if identifier[0] in _TOO_WIDE:
                continue
            kept = self._latest.setdefault((identifier, lane.index), [])
            kept.append((record, lane.time))
            del kept[: -1 if identifier[0] in _MANY else -_REMEMBERED]


def _what_tells(one: Record, other: Record) -> str:
    return _TELLS_APART.get(frozenset((one.kind, other.kind)), _ELSE)
