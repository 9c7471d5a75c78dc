"""A tape from its first event to its last, for a recording and for a replay that is recorded."""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rerail import __version__
from rerail.capture.recorder import Recorder
from rerail.clock import RunClock
from rerail.errors import TapeWriteFailed
from rerail.launch.child import Ending
from rerail.launch.facts import machine_facts
from rerail.redact.apply import Redactor, secrets_in
from rerail.tape.records import (
    Event,
    Parent,
    ProcessEnded,
    ProcessStarted,
    RunEnded,
    RunStarted,
    WorkspaceSnapshot,
)
from rerail.tape.witness import files_witness, witness
from rerail.tape.writer import TapeWriter

COMMAND: Final = 1
"""The number of the command among the processes of a run."""


class RunFacts(Struct, frozen=True):
    """What the first event says of a run; see `rerail.tape.records.RunStarted`.

    `went_on` are holds that a person went past: each its id, its reason, and what was said.
    """

    argv: list[str]
    cwd: Path
    capture: Mapping[str, str]
    kept: Mapping[str, str]
    run_id: str = ""
    task_id: str = ""
    facts: bool = True
    seed: bytes = b""
    parent: Parent | None = None
    went_on: Sequence[tuple[str, str, str]] = ()


class KeptTape(Struct, frozen=True):
    """A finished tape. `failed` is set where it could not be kept to the end.

    `passed` are the connections that went past the recorder: of which program, to what address.
    """

    tape: Path
    tape_id: str
    run_id: str
    exchanges: int
    size: int
    failed: TapeWriteFailed | None = None
    passed: Sequence[tuple[str, str]] = ()


class Keeping:
    """Opens a tape, gives the recorder that fills it, and closes it."""

    def __init__(
        self,
        tape: Path,
        environment: Mapping[str, str],
        *,
        witness_key: bytes,
        overwrite: bool = False,
        go_on_unrecorded: bool = False,
        log: Callable[[Event], None] | None = None,
    ) -> None:
        self._tape = tape
        self._environment = environment
        self._witness_key = witness_key
        self._run_id = ""
        redactor = Redactor.create(key=secrets.token_bytes(32), secrets=secrets_in(environment))
        self._writer = TapeWriter.create(tape, overwrite=overwrite)
        self.recorder = Recorder(
            self._writer, redactor, RunClock(), go_on_unrecorded=go_on_unrecorded, log=log
        )

    def started(self, run: RunFacts) -> None:
        """Write the first event."""
        self._run_id = run.run_id or f"run-{secrets.token_hex(6)}"

        def make(at: int, wall: int) -> RunStarted:
            event = RunStarted(
                at=at,
                wall=wall,
                run_id=self._run_id,
                task_id=run.task_id or self._run_id,
                writer=f"rerail {__version__}",
                argv=run.argv,
                cwd=str(run.cwd),
                environment=dict(run.kept),
                capture=dict(run.capture),
                facts=machine_facts(run.cwd, self._environment) if run.facts else {},
                parent=run.parent,
                seed=run.seed,
            )
            # Over what will stand on the tape; cleaning what is clean changes nothing.
            cleaned = self.recorder.redactor.record(event).event
            assert isinstance(cleaned, RunStarted)
            return replace(event, witness=witness(self._witness_key, cleaned))

        self.recorder.emit(make, urgent=True)
        self.recorder.witnessed = self._witnessed
        for hold_id, reason, why in run.went_on:
            self.recorder.went_past(hold_id, reason, why)

    def _witnessed(self, snapshot: WorkspaceSnapshot) -> WorkspaceSnapshot:
        # Over what will stand on the tape, as above.
        said = replace(snapshot, folder=self.recorder.redactor.text(snapshot.folder))
        return replace(snapshot, witness=files_witness(self._witness_key, self._run_id, said))

    def command_started(self, argv: list[str], cwd: Path, pid: int) -> None:
        """The command runs."""
        self.recorder.programs[COMMAND] = argv[0] if argv else ""
        self.recorder.emit(
            lambda at, wall: ProcessStarted(
                at=at,
                wall=wall,
                component="agent",
                process_id=COMMAND,
                argv=argv,
                cwd=str(cwd),
                pid=pid,
            )
        )

    def command_ended(self, ending: Ending, left: Iterable[tuple[int, list[str]]]) -> None:
        """The command is over; `left` are processes of it that go on."""
        for pid, argv in left:
            words = " ".join(self.recorder.redactor.arguments(argv))[:200]
            detail = f"pid {pid} ({words}) went on after the command ended"
            self.recorder.missing("a process outlived the command", detail, 0)
        self.recorder.emit(
            lambda at, wall: ProcessEnded(
                at=at,
                wall=wall,
                component="agent",
                process_id=COMMAND,
                status=ending.status,
                signal=ending.signal,
            )
        )

    def close(self, ending: Ending, reason: str = "") -> KeptTape:
        """Write the last event, seal the tape and close it."""
        self.recorder.emit(
            lambda at, wall: RunEnded(
                at=at, wall=wall, status=ending.status, signal=ending.signal, reason=reason
            )
        )
        tape_id, failed = "", None
        try:
            tape_id = self._writer.close()
        except TapeWriteFailed as error:
            failed = error
        size = self._tape.stat().st_size if self._tape.exists() else 0
        return KeptTape(self._tape, tape_id, self._run_id, self.recorder.exchanges, size, failed)
