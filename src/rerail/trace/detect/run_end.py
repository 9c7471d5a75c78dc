"""How a recorded run and its processes ended: lost, killed, or with something unrecorded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rerail.tape.records import (
    CaptureMissing,
    Event,
    ProcessEnded,
    ProcessStarted,
    RunEnded,
    RunLost,
)
from rerail.trace.detect.detector import OverEvents
from rerail.trace.finding import Evidence, Finding

_KILLED: Final = (4, 6, 7, 9, 11, 15)
"""Signals that end a process from outside, or for a fault of its own."""


def _evidence(source: str, event: Event, says: str) -> list[Evidence]:
    return [Evidence(source, f"e{event.seq}", says)]


@dataclass(slots=True)
class _Lost:
    """The tape has no end: the recorder died, and what came after its last event nobody knows."""

    source: str
    last: Event | None = None

    def see(self, event: Event) -> Iterator[Finding]:
        self.last = event
        return iter(())

    def end(self) -> Iterator[Finding]:
        last = self.last
        if last is not None and not isinstance(last, RunEnded):
            says = last.reason if isinstance(last, RunLost) else "the last event"
            yield LOST.finding(
                "the recording has no end: what came after its last event is unknown",
                _evidence(self.source, last, says),
                last.seq,
            )


@dataclass(slots=True)
class _Killed:
    """A process of the run was ended by a signal."""

    source: str
    commands: dict[int, str]

    def see(self, event: Event) -> Iterator[Finding]:
        match event:
            case ProcessStarted(process_id=number, argv=argv):
                self.commands[number] = " ".join(argv)[:120]
            case ProcessEnded(process_id=number, signal=signal) if signal in _KILLED:
                command = self.commands.get(number, "")
                yield KILLED.finding(
                    f"process p{number} was ended by signal {signal}: {command}",
                    _evidence(self.source, event, command),
                    event.seq,
                )

    def end(self) -> Iterator[Finding]:
        return iter(())


@dataclass(slots=True)
class _Unrecorded:
    """Something happened that could not be recorded. It blames nobody."""

    source: str

    def see(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, CaptureMissing):
            yield UNRECORDED.finding(
                f"not recorded: {event.what} {event.detail}".rstrip(),
                _evidence(self.source, event, event.detail),
                event.seq,
                missing=True,
            )

    def end(self) -> Iterator[Finding]:
        return iter(())


LOST = OverEvents("run-lost", "runtime", "structure", "the last event of a tape", _Lost)
KILLED = OverEvents(
    "process-killed",
    "runtime",
    "structure",
    "how processes ended",
    lambda source: _Killed(source, {}),
)
UNRECORDED = OverEvents(
    "not-recorded", "runtime", "context", "what could not be recorded", _Unrecorded
)
DETECTORS = [LOST, KILLED, UNRECORDED]
