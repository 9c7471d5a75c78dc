"""The tape of a script's run while it is written: each fact stamped, cleaned, kept in its order.

What must be on the disk before the run goes on is `hold`'s matter. Knows no engine's inside.
"""

import hmac
import os
import secrets
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Self

from msgspec.structs import replace

from rerail import __version__
from rerail.capture.recorder import Recorder
from rerail.clock import RunClock, wall_ns
from rerail.holds import Hold
from rerail.proxy.certs import Authority, default_folder
from rerail.redact.apply import Redactor, secrets_in
from rerail.script.engine import Ended
from rerail.script.history import HistoryDigest, Told, encode_history
from rerail.script.pause import Pause
from rerail.script.proof import Signer, script_key
from rerail.script.recorded import Recorded
from rerail.script.values import encoded
from rerail.tape.lock import busy
from rerail.tape.records import Body, Component, Parent, RunEnded, RunStarted
from rerail.tape.reopening import reopen
from rerail.tape.script_records import (
    How,
    Printed,
    ScriptAnswered,
    ScriptAsked,
    ScriptCalled,
    ScriptEnded,
    ScriptForked,
    ScriptParked,
    ScriptPaused,
    ScriptPrinted,
    ScriptResumed,
    ScriptStarted,
)
from rerail.tape.witness import witness
from rerail.tape.writer import TapeWriter

CAPTURE: Final = {
    "script": "its state at each call of a tool, and all that it was told",
    "clock": "each time told to the script",
    "random": "the entropy told to the script",
}
_SMALL: Final = 64 << 10


@cache
def _key_of(data_home: str, home: str) -> bytes:
    folder = default_folder({"XDG_DATA_HOME": data_home, "HOME": home})
    return Authority.open_or_create(folder).witness_key


def _homes() -> tuple[str, str]:
    return os.environ.get("XDG_DATA_HOME", ""), os.environ.get("HOME", "")


@lru_cache(maxsize=1)
def _secrets(environment: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    return secrets_in(dict(environment))


def _digest(data: bytes) -> bytes:
    return sha256(data).digest()


def own_key() -> bytes:
    """The key by which this user's own tapes are known on this machine."""
    return _key_of(*_homes())


class Keeping:
    """One tape being written, and who writes it."""

    def __init__(
        self, writer: TapeWriter, run_id: str, *, code: bytes, at: int = 0, exchanges: int = 0
    ) -> None:
        own = own_key()
        self.run_id = run_id
        self.path = writer.path
        self._signer = Signer(script_key(own), run_id, code)
        self._told = HistoryDigest()
        self._writer = writer
        # The same secret keeps its reference when the run is resumed.
        key = hmac.digest(own, b"references " + run_id.encode(), "sha256")
        redactor = Redactor.create(key=key, secrets=_secrets(frozenset(os.environ.items())))
        self.recorder = Recorder(writer, redactor, RunClock(at=at))
        self.recorder.exchanges = exchanges

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        code: str,
        run_id: str = "",
        task_id: str = "",
        parent: Parent | None = None,
        capture: Mapping[str, str] | None = None,
        facts: Mapping[str, str] | None = None,
        overwrite: bool = False,
    ) -> Self:
        """Begin a tape. It names no command: a script has none.

        Raises TapeExists, TapeBusy, TapeWriteFailed.
        """
        run_id = run_id or f"run-{secrets.token_hex(6)}"
        writer = TapeWriter.create(path, overwrite=overwrite)
        keeping = cls(writer, run_id, code=_digest(code.encode()))

        def make(at: int, wall: int) -> RunStarted:
            event = RunStarted(
                at=at,
                wall=wall,
                run_id=run_id,
                task_id=task_id or run_id,
                writer=f"rerail {__version__}",
                argv=[],
                cwd=str(Path.cwd()),
                capture={**CAPTURE, **(capture or {})},
                facts=dict(facts or {}),
                parent=parent,
            )
            cleaned = keeping.recorder.redactor.record(event).event
            assert isinstance(cleaned, RunStarted)
            return replace(event, witness=witness(own_key(), cleaned))

        keeping.recorder.emit(make)
        return keeping

    @classmethod
    def reopen(cls, path: Path, recorded: Recorded) -> Self:
        """Go on with a tape whose writer is gone, and which has been checked. Raises TapeBusy."""
        run, code = recorded.run, recorded.started.code.digest
        at = max(recorded.last_at, wall_ns() - run.wall)
        writer = reopen(path)
        if writer.last_seq != recorded.last_seq:
            writer.close()
            raise busy(path)  # somebody took it up, and let go of it, since it was read
        keeping = cls(writer, run.run_id, code=code, at=at, exchanges=recorded.exchanges)
        keeping._told = HistoryDigest(recorded.history)
        return keeping

    def met(self, holds: list[Hold], despite: str) -> None:
        """Somebody goes on though the task is held, and says why."""
        for hold in holds:
            self.recorder.went_past(hold.id, hold.reason, despite)

    def started(self, started: ScriptStarted, code: str, inputs: dict[str, Any]) -> None:
        """The script begins: its text, and what it is given."""
        body = self._content(code.encode())
        given = self._content(encoded(inputs, name="inputs")) if inputs else None
        begun = replace(started, code=body, inputs=given)
        begun = replace(begun, witness=self._signer.of_script(begun))
        self.recorder.emit(lambda at, wall: replace(begun, at=at, wall=wall))

    def forked(self, run_id: str, pause: int, events: int, history: list[Told]) -> None:
        """This tape goes on from a pause of another run, of which it has seen so many events."""
        self._told = HistoryDigest(history)
        told = self._content(encode_history(history)) if history else None
        self.recorder.emit(
            lambda at, wall: ScriptForked(
                at=at, wall=wall, run_id=run_id, pause=pause, events=events, history=told
            )
        )

    def paused(self, pause: Pause, arguments: bytes, state: bytes, *, calls: bool) -> None:
        """The state at a pause. It is on no disk yet: see `hold`."""
        pause.state = self._content(state)
        said = self._content(arguments)
        pause.arguments_digest = said.digest
        # What is witnessed is what will stand on the tape.
        tool, told = self.recorder.redactor.text(pause.tool), self._told.digest()

        def make(at: int, wall: int) -> ScriptPaused:
            pause.at, pause.wall = at, wall
            event = ScriptPaused(
                at=at,
                wall=wall,
                component="agent",
                pause=pause.number,
                token=pause.token,
                call=pause.call,
                tool=tool,
                arguments=said,
                state=pause.state,
                line=pause.line,
                calls=calls,
            )
            return replace(event, witness=self._signer.of_pause(event, told))

        self.recorder.emit(make)
        self._writer.seal()

    def called(self, pause: Pause) -> None:
        """The tool is about to be called for a pause that was there before."""
        self.recorder.emit(
            lambda at, wall: ScriptCalled(
                at=at, wall=wall, pause=pause.number, attempt=pause.attempts
            )
        )

    def answered(self, pause: Pause, answer: bytes, raised: str, by: Component) -> Told:
        """What the pause is answered with. It is on no disk yet: see `hold`."""
        body, raised = self._content(answer), self.recorder.redactor.text(raised)
        told = Told("tool", pause.tool, answer, raised, pause.arguments_digest)
        self._told.add(told)

        def make(at: int, wall: int) -> ScriptAnswered:
            event = ScriptAnswered(
                at=at,
                wall=wall,
                component=by,
                pause=pause.number,
                token=pause.token,
                answer=body,
                raised=raised,
            )
            return replace(event, witness=self._signer.of_answer(event))

        self.recorder.emit(make)
        return told

    def asked(self, pause: int, name: str, value: bytes) -> None:
        """What the host said of its clock, or entropy; kept with what comes next."""
        self._told.add(Told("host", name, value))
        self.recorder.emit(
            lambda at, wall: ScriptAsked(at=at, wall=wall, pause=pause, name=name, value=value)
        )

    def printed(self, printed: list[tuple[Printed, str]]) -> None:
        """What the script printed since the pause before; kept with what comes next."""
        for stream, texts in groupby(printed, key=itemgetter(0)):
            body = self._content("".join(text for _, text in texts).encode("utf-8", "replace"))
            self._say_printed(stream, body)

    def _say_printed(self, stream: Printed, text: Body) -> None:
        self.recorder.emit(
            lambda at, wall: ScriptPrinted(
                at=at, wall=wall, component="agent", stream=stream, text=text
            )
        )

    def resumed(self, pause: int, how: How, engine: str) -> None:
        """A host takes the script up again."""
        self.recorder.emit(
            lambda at, wall: ScriptResumed(at=at, wall=wall, pause=pause, how=how, engine=engine)
        )

    def parked(self, pause: int) -> None:
        """The host lets go of the tape while the script waits."""
        self.recorder.emit(lambda at, wall: ScriptParked(at=at, wall=wall, pause=pause))

    def ended(self, ended: Ended) -> None:
        """The script is over."""
        good = not ended.error
        output = self._content(encoded(ended.output, name="the last line")) if good else None
        self.recorder.emit(
            lambda at, wall: ScriptEnded(
                at=at, wall=wall, component="agent", output=output, error=ended.error
            )
        )

    def run_ended(self, *, well: bool) -> None:
        """The last event."""
        status = 0 if well else 1
        self.recorder.emit(lambda at, wall: RunEnded(at=at, wall=wall, status=status))

    def hold(self, *, synced: bool = False) -> None:
        """Wait until all of it outlasts a killed process; `synced`: a power cut too.

        Raises TapeWriteFailed.
        """
        self._writer.flush(synced=synced)

    def close(self) -> str:
        """Bring everything into the one file; returns the tape's id. Raises TapeWriteFailed."""
        return self._writer.close()

    def _content(self, data: bytes) -> Body:
        """Small contents repeat each other, and are one series; large ones only their own kind."""
        lane = "script" if len(data) <= _SMALL else f"script {len(data).bit_length()}"
        clean = self.recorder.redactor.body(data)
        return Body(digest=self._writer.blob(clean, lane=lane), size=len(data))
