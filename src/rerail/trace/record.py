"""A record of a case: one fact of one source, with what identifies it. Knows no file format.

A source of a case is anything that gives such records in its own order: a tape, an imported log. It
is read as a stream, as often as somebody asks, so that a case may be larger than memory.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from rerail.tape.event import Event
from rerail.trace.story import Gap, Story

IDENTIFIERS: Final = ("run", "task", "proposal", "approval", "attempt", "request", "call", "tape")
"""What records are joined by.

`attempt` is that of an action on the target, `request` what both sides of an HTTP request call it
(`x-request-id`), `call` a model's own id of a tool call, `tape` a tape's id, known once sealed.
"""

FIELDS: Final = {
    "run": "run_id",
    "task": "task_id",
    "proposal": "proposal_ref",
    "approval": "approval_id",
    "attempt": "attempt_id",
    "tape": "tape_id",
}
"""The fields of a tape's events that hold them."""


@dataclass(frozen=True, slots=True)
class Record:
    """One fact.

    `order` is its place in its source (the number of an event, a line), `ref` what opens it
    (`rerail.trace.finding.Evidence`). `kind` is that of the event on a tape; an imported record
    has the kind that its mapping gives. `wall` is nanoseconds since 1970 by the source's own
    clock, None where it does not say. `ids` are (identifier, value) pairs, `fields` what else the
    record holds.
    """

    source: str
    ref: str
    order: int
    kind: str
    component: str
    says: str
    wall: int | None = None
    ids: tuple[tuple[str, str], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)

    def id(self, name: str) -> str:
        """The value of an identifier, empty where the record has none of it."""
        return next((value for known, value in self.ids if known == name), "")


class CaseSource(Protocol):
    """What a case reads. `name` is the source's in the case (`A`, `B` …), and stands in records.

    `recorded` is true for a tape, false for what was imported. `whole` says that nothing can be
    missing between its first record and its last: numbers without a gap, and an end on record.
    """

    name: str
    title: str
    recorded: bool

    @property
    def whole(self) -> bool: ...

    @property
    def gaps(self) -> tuple[Gap, ...]: ...

    def records(self, *, worded: bool = True) -> Iterator[Record]:
        """All records in the source's own order; where words cost time, `says` may be left out."""

    def worded(self, record: Record) -> Record:
        """The same record with its words."""

    def events(self) -> Iterator[Event] | None:
        """A tape's events; None for what was imported."""

    def story(self) -> Story | None:
        """The conversation, where the source holds one."""

    def evidence(self, ref: str) -> str:
        """What stands at a place, as text. Raises NotOnTape where there is no such place."""


def text(record: Record | None, name: str) -> str:
    """A field as text, empty where there is none."""
    value: Any = record.fields.get(name) if record is not None else None
    return "" if value is None else str(value)


def short(ref: str) -> str:
    """A digest's beginning; anything else as it is."""
    return ref[:19] if ref.startswith("sha256:") else ref
