"""The tape of a replay, or of a rewind: it names the one it came from, and holds what was told."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rerail.capture.children import ChildRecord
from rerail.capture.folders import SNAPSHOTS, Folders
from rerail.capture.keeping import Keeping, KeptTape, RunFacts
from rerail.capture.probes import ProbeLogs
from rerail.capture.recorder import Recorder
from rerail.capture.snapshots import Workspace
from rerail.clock import file_time_ns
from rerail.errors import RerailError
from rerail.launch.child import Ending
from rerail.proxy.certs import Authority, default_folder
from rerail.proxy.said import Started
from rerail.tape.plane_records import BudgetChanged
from rerail.tape.reader import Tape
from rerail.tape.records import ClockJumped, Edit, Parent
from rerail.tape.storage import keep_source
from rerail.workspace.seen import Seen


class ReplayRecording:
    """What a replay tells of itself, so that it can be recorded. Made once it may start.

    `step` is where a rewind goes on live, 0 for a replay; `edits` are what it changes from there
    on, `turns` its budget. `kept` is the finished tape, once it is.
    """

    def __init__(
        self,
        output: Path,
        source: Tape,
        environment: Mapping[str, str],
        *,
        overwrite: bool,
        step: int = 0,
        edits: Sequence[Edit] = (),
        turns: int = 0,
        went_on: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        keep_source(source.path, output)
        authority = Authority.open_or_create(default_folder(environment))
        self._keeping = Keeping(
            output, environment, witness_key=authority.witness_key, overwrite=overwrite
        )
        self._logs = ProbeLogs(self._keeping.recorder)
        self._source = source
        self._parent = _parent(source, step, edits, turns)
        self._went_on = went_on
        self._at = 0
        self.kept: KeptTape | None = None

    @property
    def tap(self) -> Recorder:
        """Hears what passes."""
        return self._keeping.recorder

    def began(
        self, command: list[str], cwd: Path, kept: Mapping[str, str], folders: Sequence[Seen]
    ) -> None:
        """The replay is about to start its command, which works on these folders, if on any."""
        if folders:
            recorder = self._keeping.recorder
            recorder.workspace = Workspace(recorder, Folders(folders))
            self._at = file_time_ns()
        run = self._source.run
        step = self._parent.step
        live = f" up to s{step}, then live" if step else ""
        capture = {
            "http": "proxy variables and CA variables",
            "replies": f"from the parent tape{live}",
            "workspace": SNAPSHOTS if folders else "no: it ran in the folder itself",
        }
        capture |= {
            name: run.capture[name]
            for name in ("clock", "random", "children")
            if name in run.capture
        }
        began = RunFacts(
            command,
            cwd,
            capture,
            kept,
            task_id=run.task_id,
            parent=self._parent,
            seed=run.seed,
            went_on=self._went_on,
        )
        self._keeping.started(began)

    def command_started(self, argv: list[str], cwd: Path, pid: int) -> None:
        """The command runs."""
        self._keeping.command_started(argv, cwd, pid)
        if self._keeping.recorder.workspace is not None:
            self._keeping.recorder.workspace.start(self._at)

    def clock_jumped(self, before: int, after: int) -> None:
        """Processes are told the real time from now on (ns since 1970)."""
        self._keeping.recorder.emit(
            lambda at, wall: ClockJumped(at=at, wall=wall, before=before, after=after)
        )

    def budget_used(self, used: int, limit: int, spent: bool) -> None:
        """So many model calls of the fork's budget are used; `spent`: another was refused."""
        self._keeping.recorder.emit(
            lambda at, wall: BudgetChanged(
                at=at, wall=wall, budget="turns", limit=limit, used=used, spent=spent
            )
        )

    def probe_wrote(self, process_id: int, lines: bytes) -> None:
        """What the probe in a process was asked for."""
        self._logs.keep(process_id, lines)

    def child(self, started: Started) -> ChildRecord:
        """Who keeps a child of the replay."""
        return ChildRecord(self._keeping.recorder, started)

    def not_started(self, error: RerailError) -> None:
        """The command could not be started: so says the tape, not that its recorder died."""
        self._keeping.close(Ending(error.exit_code), f"it did not start: {error.what}")

    def ended(self, ending: Ending, left: Iterable[tuple[int, list[str]]]) -> KeptTape:
        """The command is over: seal and close. Raises `TapeWriteFailed`."""
        self._keeping.command_ended(ending, left)
        if self._keeping.recorder.workspace is not None:
            self._keeping.recorder.workspace.close()
        kept = self._keeping.close(ending)
        if kept.failed is not None:
            raise kept.failed
        self.kept = kept
        return kept


def _parent(source: Tape, step: int, edits: Sequence[Edit], turns: int) -> Parent:
    """What was put into a fork's conversation is in that of its replay, too."""
    if step:
        return Parent(tape_id=source.id, step=step, relation="fork", edits=list(edits), turns=turns)
    before = source.run.parent
    return Parent(tape_id=source.id, edits=before.edits if before else [])
