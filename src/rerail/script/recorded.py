"""What a tape tells of a durable script: its pauses, answers, and how it stands. Loads no state."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rerail.errors import NotOnTape
from rerail.script.history import Told, decode_history
from rerail.script.pause import Answer, Pause
from rerail.script.values import decoded
from rerail.tape.reader import Tape
from rerail.tape.records import Body, Event, HttpRequest, RunStarted
from rerail.tape.script_records import (
    ScriptAnswered,
    ScriptAsked,
    ScriptCalled,
    ScriptEnded,
    ScriptForked,
    ScriptParked,
    ScriptPaused,
    ScriptResumed,
    ScriptStarted,
)


@dataclass
class Recorded:
    """A script's run as its tape tells it. Values are read from the tape when asked for.

    `told` is what the script was told on this tape, `inherited` what a fork had been told before.
    `told_by` counts, for each pause, what of `told` came before it, `engines` says who saved it.
    """

    run: RunStarted
    started: ScriptStarted
    _blob: Callable[[bytes], bytes] = field(repr=False)
    _later: Callable[[bytes], bytes] = field(repr=False)
    forked: ScriptForked | None = None
    pauses: list[Pause] = field(default_factory=list)
    events: dict[int, ScriptPaused] = field(default_factory=dict)
    answers: dict[int, ScriptAnswered] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    told_by: dict[int, int] = field(default_factory=dict)
    inherited: list[Told] = field(default_factory=list)
    ended: ScriptEnded | None = None
    parked: bool = False
    asked: int = 0
    exchanges: int = 0
    last_at: int = 0
    last_seq: int = 0
    engines: dict[int, str] = field(default_factory=dict)
    _engine: str = ""

    @cached_property
    def code(self) -> str:
        """The script's text."""
        return self._blob(self.started.code.digest).decode()

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The names that were set before its first line."""
        return self._value(self.started.inputs) or {}

    @property
    def output(self) -> Any:
        """The value of its last line; None where it has not ended well."""
        return self._value(self.ended.output) if self.ended else None

    def pause(self, number: int) -> Pause:
        """Raises NotOnTape."""
        for pause in self.pauses:
            if pause.number == number:
                return pause
        numbers = [pause.number for pause in self.pauses]
        hint = f"it has pauses {numbers[0]} to {numbers[-1]}" if numbers else "it has none"
        raise NotOnTape(f"there is no pause {number} on this tape", hint=hint)

    @property
    def history(self) -> list[Told]:
        """All that the script has been told, but what a host that takes it up says anew.

        That is what the host had said after the answer to the last pause.
        """
        told = list(self.told)
        saved = self.told_by[self.pauses[-1].number] if self.pauses else 0
        while len(told) > saved and told[-1].kind == "host":
            told.pop()
        return self.inherited + told

    def history_before(self, number: int) -> list[Told]:
        """All that the script had been told when it came to this pause."""
        return self.inherited + self.told[: self.told_by[number]]

    def take(self, event: Event) -> None:
        """The next event of the tape."""
        self.parked = isinstance(event, ScriptParked)
        self.last_at, self.last_seq = event.at, event.seq
        match event:
            case HttpRequest():
                self.exchanges = max(self.exchanges, event.exchange_id)
            case ScriptForked():
                self.forked = event
                if event.history is not None:
                    self.inherited = decode_history(self._blob(event.history.digest))
            case ScriptPaused():
                self._paused(event)
            case ScriptResumed():
                # No pause has been saved since that would prove anything of them.
                self.told = self.history[len(self.inherited) :]
                self._engine = event.engine
            case ScriptCalled():
                self.pause(event.pause).attempts = event.attempt
            case ScriptAnswered():
                self._answered(event)
            case ScriptAsked():
                self.asked += 1
                self.told.append(Told("host", event.name, event.value))
            case ScriptEnded():
                self.ended = event

    def _paused(self, event: ScriptPaused) -> None:
        self.engines[event.pause] = self._engine or self.started.engine
        pause = pause_of(event, partial(self._later, event.arguments.digest))
        self.pauses.append(pause)
        self.events[event.pause] = event
        self.told_by[event.pause] = len(self.told)

    def _answered(self, event: ScriptAnswered) -> None:
        pause = self.pause(event.pause)
        pause.answer = Answer(event.raised, partial(self._later, event.answer.digest))
        self.answers[event.pause] = event
        value = self._blob(event.answer.digest)
        told = Told("tool", pause.tool, value, event.raised, pause.arguments_digest)
        self.told.append(told)

    def _value(self, body: Body | None) -> Any:
        return decoded(self._blob(body.digest)) if body else None


def pause_of(event: ScriptPaused, read: Callable[[], bytes]) -> Pause:
    """The pause that an event tells of; `read` gives its arguments."""
    return Pause(
        number=event.pause,
        token=event.token,
        tool=event.tool,
        line=event.line,
        at=event.at,
        wall=event.wall,
        call=event.call,
        state=event.state,
        arguments_digest=event.arguments.digest,
        _read=read,
        attempts=int(event.calls),
    )


def _blob_at(path: Path, digest: bytes) -> bytes:
    """Of a tape that may be closed by now."""
    with Tape.open(path) as tape:
        return tape.blob(digest)


def read_script(tape: Tape) -> Recorded:
    """What is on an open tape. Raises NotOnTape where it is not a script's, and TapeAltered."""
    recorded: Recorded | None = None
    for event in tape.events():
        if isinstance(event, ScriptStarted):
            recorded = Recorded(tape.run, event, tape.blob, partial(_blob_at, tape.path))
        elif recorded is not None:
            recorded.take(event)
    if recorded is None:
        hint = "a recorded run is taken back to a step with `rerail rewind`"
        raise NotOnTape(f"there is no durable script on {tape.path}", hint=hint)
    return recorded
