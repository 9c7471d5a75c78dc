"""A recording without a proxy: a tape, its recorder, and a folder that is snapshotted."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rerail.capture.folders import Folders
from rerail.capture.recorder import Recorder
from rerail.capture.snapshots import Workspace
from rerail.clock import RunClock, file_time_ns
from rerail.redact.apply import Redactor
from rerail.tape.reader import Tape
from rerail.tape.records import CaptureMissing, RunEnded, RunStarted, WorkspaceSnapshot
from rerail.tape.writer import TapeWriter
from rerail.workspace.kept import Kept
from rerail.workspace.scan import RACY_NS
from rerail.workspace.seen import Seen

SECRET = "sk-proj-AbC-123-xyz-0009"


@dataclass
class Watched:
    """A folder under a recording; `finish` ends it and gives what is on the tape."""

    folder: Path
    recorder: Recorder
    workspace: Workspace
    snapshots: list[WorkspaceSnapshot] = field(default_factory=list)
    missing: list[CaptureMissing] = field(default_factory=list)
    trees: list[dict[str, str]] = field(default_factory=list)

    def start(self) -> None:
        touched = max(path.lstat().st_ctime_ns for path in (self.folder, *self.folder.rglob("*")))
        while file_time_ns() <= touched:
            pass
        self.workspace.start(file_time_ns())

    def finish(self) -> None:
        self.workspace.close()
        self.recorder.emit(lambda at, wall: RunEnded(at=at, wall=wall, status=0))
        self.recorder.writer.close()
        with closing(Tape.open(self.recorder.writer.path)) as tape:
            kept = Kept(tape)
            self.snapshots = kept.all
            self.trees = [{e.name: e.kind for e in kept.tree(event)} for event in kept.all]
            self.missing = [e for e in tape.events() if isinstance(e, CaptureMissing)]


def settle(touched: Path) -> None:
    """Wait until a touch would give other times than this one has."""
    while file_time_ns() <= touched.stat().st_ctime_ns + RACY_NS:
        pass


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    """`watch(folder, also=…)` begins a recording of a folder, `workspace` in the test's own."""
    made: list[Watched] = []

    def begin(**more: Any) -> Watched:
        folder = tmp_path / "workspace"
        folder.mkdir()
        writer = TapeWriter.create(tmp_path / "run.tape")
        redactor = Redactor.create(key=b"k", secrets=[SECRET])
        recorder = Recorder(writer, redactor, RunClock())
        recorder.emit(
            lambda at, wall: RunStarted(
                at=at, wall=wall, run_id="r", task_id="t", writer="w", argv=[], cwd="/"
            )
        )
        also = [Seen.itself(place, also=True) for place in more.pop("also", [])]
        folders = Folders([Seen.itself(folder), *also], **more)
        workspace = Workspace(recorder, folders, soon=lambda look: look())
        recorder.workspace = workspace
        made.append(Watched(folder, recorder, workspace))
        return made[-1]

    yield begin
    for watched in made:
        watched.recorder.writer.close()
