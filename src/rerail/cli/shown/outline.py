"""A tape as far as it can be read: what `show` tells of it. Damage is noted, never raised.

The tape may be a stranger's and may be torn: what can be read is read, what cannot is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from rerail.cli.facts.planes import SUMMED_UP
from rerail.cli.shown.children import Child
from rerail.errors import NotOnTape, RerailError, TapeAltered
from rerail.llm.numbered import ModelCalls, model_calls
from rerail.llm.steps import Attempt, TurnAt
from rerail.tape import form
from rerail.tape.exchange import Exchange, joined
from rerail.tape.reader import State, Tape, UnfinishedBody
from rerail.tape.records import (
    CaptureMissing,
    ConnectionFailed,
    Event,
    McpMessage,
    ProbeLog,
    ProcessEnded,
    ProcessOutput,
    ProcessStarted,
    RunEnded,
    RunLost,
    RunStarted,
    TunnelClosed,
    TunnelOpened,
    WorkspaceSnapshot,
)
from rerail.tape.script_records import (
    ScriptAnswered,
    ScriptCalled,
    ScriptEnded,
    ScriptForked,
    ScriptParked,
    ScriptPaused,
    ScriptResumed,
    ScriptStarted,
)

_FRAMES_MISSED: Final = 16
"""Stretches of events that cannot be read, one after the other, after which none are looked for."""


@dataclass(slots=True)
class Outline:
    """What is on a tape.

    `state` is None where the damage hides how the run ended. `tape_id` is empty for a tape that is
    still growing, and where damage keeps it from being worked out. `last_at` is the time of the
    last event (nanoseconds since the run began).
    """

    run: RunStarted
    state: State | None
    tape_id: str = ""
    ended: RunEnded | None = None
    lost: RunLost | None = None
    events: int = 0
    last_at: int = 0
    exchanges: list[Exchange] = field(default_factory=list)
    calls: ModelCalls = field(default_factory=ModelCalls)
    processes: dict[int, tuple[ProcessStarted | None, ProcessEnded | None]] = field(
        default_factory=dict
    )
    children: dict[int, Child] = field(default_factory=dict)
    missing: list[CaptureMissing] = field(default_factory=list)
    failures: list[ConnectionFailed] = field(default_factory=list)
    tunnels: list[tuple[TunnelOpened, TunnelClosed | None]] = field(default_factory=list)
    snapshots: list[WorkspaceSnapshot] = field(default_factory=list)
    unfinished: list[UnfinishedBody] = field(default_factory=list)
    script: list[Event] = field(default_factory=list)
    planes: list[Event] = field(default_factory=list)
    drawn: int = 0
    damage: list[RerailError] = field(default_factory=list)

    @property
    def steps(self) -> dict[int, Attempt]:
        """The main model calls, by exchange id."""
        return self.calls.steps

    def exchange(self, exchange_id: int) -> Exchange | None:
        """The exchange of that number, if its events can be read."""
        found = (item for item in self.exchanges if item.exchange_id == exchange_id)
        return next(found, None)

    def turns_of(self, exchange_id: int) -> tuple[TurnAt, ...]:
        """The turns of a WebSocket session, none for any other exchange."""
        attempt = self.steps.get(exchange_id)
        return attempt.turns if attempt else ()

    def outer_children(self) -> list[Child]:
        """The children that are not part of another."""
        return [child for child in self.children.values() if not self._outer(child.number)]

    def _outer(self, number: int) -> int:
        """The child that a process is part of, 0 for none."""
        seen = {number}
        while True:
            started, _ = self.processes.get(number, (None, None))
            number = started.parent_process_id if started else 0
            if number in self.children or number in seen or not number:
                return number if number in self.children else 0
            seen.add(number)

    def of_step(self, step: int) -> list[Exchange]:
        """The exchanges of a step: the attempts of one model call in order, or its WebSocket."""
        numbers = {number for number, attempt in self.steps.items() if step in attempt.steps}
        return [item for item in self.exchanges if item.exchange_id in numbers]


def read_outline(tape: Tape) -> Outline:
    """Read a tape's outline. Raises nothing for damage: see `Outline.damage`."""
    outline = Outline(tape.run, None)
    events = list(readable_events(tape, outline.damage))
    outline.events = len(events)
    outline.last_at = max((event.at for event in events), default=0)
    outline.unfinished = _unfinished(tape, outline.damage)
    outline.exchanges = [
        item for item in joined(events, outline.unfinished) if item.request is not None
    ]
    outline.calls = model_calls(tape, outline.exchanges)
    for event in events:
        _take(outline, event)
    _take_state(outline, tape)
    return outline


def readable_events(tape: Tape, damage: list[RerailError]) -> Iterator[Event]:
    """The events that can be read, in order; for each stretch that cannot, why.

    Events are stored in frames, of which a torn one is lost from the tear on.
    """
    seq, missed = 1, 0
    try:
        last = tape.last_seq
    except TapeAltered as error:
        damage.append(error)
        return
    while seq <= last and missed < _FRAMES_MISSED:
        try:
            for event in tape.events(start=seq, stop=last + 1):
                yield event
                seq, missed = event.seq + 1, 0
        except (TapeAltered, NotOnTape) as error:
            damage.append(error)
            seq, missed = _behind(tape, seq, missed)


def _behind(tape: Tape, seq: int, missed: int) -> tuple[int, int]:
    """Where to go on behind an event that cannot be read, and how many frames are missed now."""
    try:
        tape.event_bytes(seq)
    except (TapeAltered, NotOnTape):
        frame = (seq - 1) // form.EVENTS_PER_FRAME
        return (frame + 1) * form.EVENTS_PER_FRAME + 1, missed + 1
    return seq + 1, missed


def _unfinished(tape: Tape, damage: list[RerailError]) -> list[UnfinishedBody]:
    try:
        return tape.unfinished()
    except TapeAltered as error:
        damage.append(error)
        return []


def _take_state(outline: Outline, tape: Tape) -> None:
    try:
        outline.state = tape.state
        outline.ended = tape.ended
        outline.tape_id = "" if outline.state == "live" else tape.id
    except TapeAltered as error:
        if error.what not in [known.what for known in outline.damage]:
            outline.damage.append(error)


def _take(outline: Outline, event: Event) -> None:
    match event:
        case RunLost():
            outline.lost = event
        case ScriptStarted() | ScriptForked() | ScriptPaused() | ScriptCalled():
            outline.script.append(event)
        case ScriptAnswered() | ScriptParked() | ScriptResumed() | ScriptEnded():
            outline.script.append(event)
        case event if isinstance(event, SUMMED_UP):
            outline.planes.append(event)
        case ProbeLog():
            outline.drawn += event.drawn
        case CaptureMissing():
            outline.missing.append(event)
        case WorkspaceSnapshot():
            outline.snapshots.append(event)
        case ConnectionFailed():
            outline.failures.append(event)
        case ProcessStarted():
            outline.processes[event.process_id] = (event, None)
            if event.streams:
                outline.children[event.process_id] = Child(event)
        case ProcessOutput() if event.process_id in outline.children:
            outline.children[event.process_id].streams[event.stream] = event
        case McpMessage() if event.process_id in outline.children:
            outline.children[event.process_id].messages.append(event)
        case ProcessEnded():
            if event.process_id in outline.children:
                outline.children[event.process_id].ended = event
            started, _ = outline.processes.get(event.process_id, (None, None))
            outline.processes[event.process_id] = (started, event)
        case TunnelOpened():
            outline.tunnels.append((event, None))
        case TunnelClosed():
            _close_tunnel(outline.tunnels, event)


def _close_tunnel(
    tunnels: list[tuple[TunnelOpened, TunnelClosed | None]], closed: TunnelClosed
) -> None:
    for index, (opened, end) in enumerate(tunnels):
        if opened.connection_id == closed.connection_id and end is None:
            tunnels[index] = (opened, closed)
            return
