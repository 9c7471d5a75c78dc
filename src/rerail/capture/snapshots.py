"""Snapshots of folders while a command runs: one thread that reads, and who waits for it.

The thread is started beside the command, which does not wait for it. It reads while the model is
thinking; the reply to a model call is held back until its snapshot has been taken. Knows no
connection.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from rerail.capture.folders import Folders
from rerail.clock import file_time_ns, thread_ns
from rerail.errors import TapeWriteFailed
from rerail.workspace.seen import Seen

if TYPE_CHECKING:
    from rerail.capture.recorder import Recorder
    from rerail.tape.records import NotCaptured, SnapshotReason, WorkspaceSnapshot
    from rerail.tape.trees import Tree
    from rerail.workspace.pack import Packer
    from rerail.workspace.scan import Scan

SCANS: Final = 4
"""How often a folder that keeps changing is read for one snapshot."""

STEP_NS: Final = 400_000_000
"""Processor time of a step's snapshot at most: a run in a larger folder would feel it."""

SLOW_STEPS: Final = 3
"""So many in a row are too many; one may just have had much that was new."""

GATHERED_SECONDS: Final = 0.003
"""Where model calls come side by side, so long their steps are gathered: a model takes longer, and
reading for each call would be felt."""

_NAMES: Final = 1000
_LEFT: Final = "left out"


class Snapshot:
    """A snapshot that was asked for. Waiting for it is safe from any thread."""

    def __init__(self, why: "SnapshotReason", exchange_id: int, process_id: int) -> None:
        self.why = why
        self.exchange_id = exchange_id
        self.process_id = process_id
        self.overdue = False
        self._taken = threading.Event()
        self._guard = threading.Lock()
        self._then: list[Callable[[], None]] = []

    @property
    def taken(self) -> bool:
        """Whether the folders have been read."""
        return self._taken.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the folders have been read; False where that takes longer than `seconds`."""
        return self._taken.wait(seconds)

    def then(self, call: Callable[[], None]) -> None:
        """Call this, from the reading thread, once it is taken; at once where it is already."""
        with self._guard:
            if not self.taken:
                self._then.append(call)
                return
        call()

    def done(self) -> None:
        """The folders have been read, or cannot be."""
        with self._guard:
            self._taken.set()
            waiting, self._then = self._then, []
        for call in waiting:
            call()


class Workspace:
    """The snapshots of one recording."""

    def __init__(self, recorder: "Recorder", folders: Folders) -> None:
        self._recorder = recorder
        self._folders = folders
        self._asked: SimpleQueue[Snapshot | None] = SimpleQueue()
        self._next: Snapshot | None = None
        self._ending = threading.Event()
        self._began = 0
        self._slow = 0
        self._too_slow = False
        self._thread = threading.Thread(target=self._run, name="snapshots", daemon=True)

    def start(self, began: int) -> None:
        """Take the first snapshot; `began` is the file time just before the command begins."""
        self._began = began
        self._asked.put(Snapshot("start", 0, 0))
        self._thread.start()

    def snapshot(
        self, why: "SnapshotReason", *, exchange_id: int = 0, process_id: int = 0
    ) -> Snapshot:
        """Ask for a snapshot, in the order of asking."""
        asked = Snapshot(why, exchange_id, process_id)
        if why == "step" and self._too_slow:
            asked.done()
        else:
            self._asked.put(asked)
        return asked

    def close(self) -> None:
        """Take the last snapshot and wait for it."""
        self._ending.set()
        self.snapshot("end")
        self._asked.put(None)
        self._thread.join()

    # From here on: the thread.

    def _run(self) -> None:
        watched: list[_Watched] | None = None
        while group := self._group():
            why = group[0].why
            try:
                watched = self._watched() if watched is None else watched
                before = thread_ns()
                for folder in watched:
                    folder.read(why)
                for asked in group:
                    asked.done()
                if why == "step":
                    self._took(thread_ns() - before)
                for folder in watched:
                    for asked in group:
                        folder.write(asked)
                if watched and why == "start":
                    watched[0].packer.next_versions()
            except TapeWriteFailed:
                watched = []  # the recorder knows, and says so
            except Exception as error:  # the edge of the thread: nobody may wait for it in vain
                watched = []
                self._recorder.missing(
                    "snapshots have ended", f"{type(error).__name__}: {error}", 0
                )
            finally:
                for asked in group:
                    asked.done()

    def _group(self) -> list[Snapshot]:
        """What is asked for next; none at the end.

        Steps that wait behind each other are one: reading once after the last was asked is as good.
        """
        group: list[Snapshot] = []
        while not group or not self._asked.empty() or self._next is not None:
            asked, self._next = self._next or self._asked.get(), None
            if asked is None:
                self._asked.put(None)  # it ends the next group, too
                break
            if asked.why == "child" and not self._asked.empty():
                asked.done()  # the one behind it sees what this one would
            elif not group or asked.why == group[0].why == "step":
                group.append(asked)
                if asked.why != "step":
                    break
                if len(group) == 2:
                    self._ending.wait(GATHERED_SECONDS)
            else:
                self._next = asked
                break
        return group

    def _took(self, nanoseconds: int) -> None:
        """A folder that takes too long each time is read at its end again, and not before."""
        self._slow = self._slow + 1 if nanoseconds > STEP_NS else 0
        if self._slow == SLOW_STEPS:
            self._too_slow = True
            detail = (
                f"reading the folder takes {nanoseconds / 1e9:.1f} s: `--exclude` makes it less"
            )
            self._recorder.missing("there are no more snapshots at steps", detail, 0)

    def _watched(self) -> "list[_Watched]":
        """Loaded here: a command that is over at once has not waited for it."""
        from rerail.workspace.pack import Packer

        recorder, folders = self._recorder, self._folders
        packer = Packer(recorder.writer, recorder.redactor)
        return [
            _Watched(recorder, packer, folders, seen, began=self._began) for seen in folders.all
        ]


class _Watched:
    """One folder, and its last snapshot."""

    def __init__(
        self,
        recorder: "Recorder",
        packer: "Packer",
        folders: Folders,
        seen: Seen,
        *,
        began: int,
    ) -> None:
        from rerail.workspace.left_out import LeftOut
        from rerail.workspace.scan import Scanner

        own = _own_files(folders.tape, seen.place)
        left_out = LeftOut(
            folders.include, folders.exclude, own=[*own, *seen.not_its_own], held=seen.held
        )
        self._scanner: Scanner = Scanner(seen.place, packer.keep, left_out)
        self._recorder = recorder
        self.packer = packer
        self._seen = seen
        self._with_the_tape = {path.rpartition(b"/")[0] for path in own}
        self._began = began
        self._tree: Tree = ()
        self._scanned: Tree | None = None
        self._as_before: dict[str, Any] = {}
        self._found: tuple[Scan, bool] | None = None
        self._gone = False

    def read(self, why: "SnapshotReason") -> None:
        """Read the folder, and put on the tape the contents that are new in it."""
        try:
            scan, steady = self._first() if why == "start" else self._steady()
            if scan.tree == self._scanned:
                scan = replace(scan, tree=self._scanned)
            self._found = scan, steady
        except OSError as error:
            self._found = None
            self._cannot_be_read(error)

    def _first(self) -> "tuple[Scan, bool]":
        """Once: what the command touches meanwhile is told by its times.

        The folder that the tape is in has just been touched by us.
        """
        scan = self._scanner.scan(self._began)
        scan = replace(scan, late=scan.late - self._with_the_tape)
        return scan, not scan.late

    def _steady(self) -> "tuple[Scan, bool]":
        """Until nothing was touched meanwhile, or twice the same was found."""
        scan = self._scanner.scan(file_time_ns())
        for _ in range(SCANS - 1):
            if not scan.late:
                return scan, True
            before, scan = scan, self._scanner.scan(file_time_ns())
            if scan.tree == before.tree:
                return scan, True
        return scan, not scan.late

    def write(self, asked: Snapshot) -> None:
        """Put on the tape what was read."""
        from rerail.tape.records import WorkspaceSnapshot

        if self._found is None:
            return
        scan, steady = self._found
        fields = self._as_before if scan.tree is self._scanned else self._fields(scan.tree)
        late = sorted(scan.late) if asked.why == "start" else []

        def make(at: int, wall: int) -> "WorkspaceSnapshot":
            return WorkspaceSnapshot(
                at=at,
                wall=wall,
                folder=self._seen.path,
                why=asked.why,
                exchange_id=asked.exchange_id,
                process_id=asked.process_id,
                also=self._seen.also,
                late=[os.fsdecode(path) or "." for path in late[:_NAMES]],
                inconsistent=asked.overdue or not steady,
                **fields,
            )

        self._recorder.emit(make)

    def _fields(self, scanned: "Tree") -> dict[str, Any]:
        """What an event says of a tree, which is put on the tape, beside the one before it."""
        from rerail.workspace.changes import changes, held

        tree, kept = scanned, self.packer.tree(scanned)
        if kept is None:
            tree = self._without_secret_names(tree)
            kept = self.packer.tree(tree)
            assert kept is not None
        found = changes(held(self._tree), held(tree))
        files = [entry for entry in tree if entry.kind == "file"]
        same: dict[str, Any] = {
            "tree": kept[0],
            "tree_size": kept[1],
            "files": len(files),
            "size": sum(entry.size for entry in files),
            "left_out": sum(entry.kind == _LEFT for entry in tree),
        }
        new = {
            "added": len(found.added),
            "changed": len(found.changed),
            "removed": len(found.removed),
            "not_captured": _newly_left_out(self._tree, tree),
        }
        self._tree, self._scanned, self._as_before = tree, scanned, same
        return same | new

    def _without_secret_names(self, tree: "Tree") -> "Tree":
        """What cannot be named on the tape is left out whole, with what is in it."""
        redactor, kept, gone = self._recorder.redactor, [], b"\0"
        for entry in tree:
            if entry.path.startswith(gone):
                continue
            if redactor.file().piece(entry.path + b"\0" + entry.content) is None:
                gone = entry.path + b"/"
                detail = f"{entry.name} in {self._seen.path}"
                self._recorder.missing("a name in the workspace holds a secret", detail, 0)
            else:
                kept.append(entry)
        return tuple(kept)

    def _cannot_be_read(self, error: OSError) -> None:
        if not self._gone:
            detail = f"{self._seen.path}: {error.strerror or error}"
            self._recorder.missing("a folder cannot be snapshotted", detail, 0)
        self._gone = True


def _newly_left_out(before: "Tree", tree: "Tree") -> "list[NotCaptured]":
    from rerail.tape.records import NotCaptured

    known = {(entry.path, entry.content) for entry in before if entry.kind == _LEFT}
    new = [e for e in tree if e.kind == _LEFT and (e.path, e.content) not in known]
    return [
        NotCaptured(path=entry.name, why=entry.content.decode("utf-8", "replace"))
        for entry in new[:_NAMES]
    ]


def _own_files(tape: Path | None, root: Path) -> list[bytes]:
    """The tape and what SQLite keeps beside it, as paths in the folder."""
    from rerail.tape.storage import COMPANIONS

    if tape is None:
        return []
    with suppress(OSError, ValueError):
        inside = os.fsencode(tape.resolve().relative_to(root.resolve()))
        return [inside, *(inside + suffix.encode() for suffix in COMPANIONS)]
    return []
