"""One folder of a recording: read again and again, and what is found put on the tape.

Knows no thread and no moment: who asks says why, and for which exchanges.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rerail.capture.folders import Folders
from rerail.clock import file_time_ns
from rerail.launch.family import family_of, mapped_by
from rerail.tape.companions import with_companions
from rerail.tape.records import NotCaptured, SnapshotReason, WorkspaceSnapshot
from rerail.tape.trees import Tree
from rerail.workspace.changes import changes, held
from rerail.workspace.left_out import LeftOut
from rerail.workspace.pack import Packer
from rerail.workspace.scan import Scan, Scanner
from rerail.workspace.seen import Seen

if TYPE_CHECKING:
    from rerail.capture.recorder import Recorder

SCANS: Final = 4
"""How often a folder that keeps changing is read for one snapshot."""

_NAMES: Final = 1000
_LEFT: Final = "left out"


class Watched:
    """One folder, and its last snapshot."""

    def __init__(
        self,
        recorder: "Recorder",
        packer: Packer,
        folders: Folders,
        seen: Seen,
        *,
        began: int,
    ) -> None:
        own = _own_files(folders.tape, seen.place)
        left_out = LeftOut(
            folders.include, folders.exclude, own=[*own, *seen.not_its_own], held=seen.held
        )
        self._scanner = Scanner(seen.place, packer.keep, left_out, self._mapped)
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

    def read(self, why: SnapshotReason) -> None:
        """Read the folder, and put on the tape the contents that are new in it."""
        try:
            scan, steady = self._first() if why == "start" else self._steady()
            if scan.tree == self._scanned:
                scan = replace(scan, tree=self._scanned)
            self._found = scan, steady
        except OSError as error:
            self._found = None
            self._cannot_be_read(error)

    def _first(self) -> tuple[Scan, bool]:
        """Once: what the command touches meanwhile is told by its times.

        The folder that the tape is in has just been touched by us.
        """
        scan = self._scanner.scan(self._began)
        scan = replace(scan, late=scan.late - self._with_the_tape)
        return scan, not scan.late

    def _steady(self) -> tuple[Scan, bool]:
        """Until nothing was touched meanwhile, or twice the same was found."""
        scan = self._scanner.scan(file_time_ns())
        for _ in range(SCANS - 1):
            if not scan.late:
                return scan, True
            before, scan = scan, self._scanner.scan(file_time_ns())
            if scan.tree == before.tree:
                return scan, True
        return scan, not scan.late

    def _mapped(self) -> set[bytes]:
        """Paths in the folder, as processes of the run name it."""
        roots = {os.fsencode(root) + b"/" for root in (self._seen.place.resolve(), self._seen.path)}
        paths = mapped_by(family_of(os.getpid()))
        return {path[len(root) :] for root in roots for path in paths if path.startswith(root)}

    def untouched(self) -> bool:
        """Whether the folder is as it was last read and written down; costs next to nothing.

        False also where that cannot be told so cheaply.
        """
        if self._found is None or not self._found[1] or self._found[0].tree is not self._scanned:
            return False
        stamps = self._scanner.stamps
        return stamps is not None and stamps.hold()

    def write(
        self,
        why: SnapshotReason,
        exchanges: Sequence[int],
        *,
        process_id: int = 0,
        overdue: bool = False,
    ) -> None:
        """Put on the tape what was read; `exchanges` are those whose moment it is, else 0."""
        if self._found is None:
            return
        scan, steady = self._found
        fields = self._as_before if scan.tree is self._scanned else self._fields(scan.tree)
        late = sorted(scan.late) if why == "start" else []

        def make(at: int, wall: int) -> WorkspaceSnapshot:
            snapshot = WorkspaceSnapshot(
                at=at,
                wall=wall,
                folder=self._seen.path,
                why=why,
                exchange_id=exchanges[0],
                others=list(exchanges[1:]),
                process_id=process_id,
                also=self._seen.also,
                late=[os.fsdecode(path) or "." for path in late[:_NAMES]],
                inconsistent=overdue or not steady,
                **fields,
            )
            return self._recorder.witnessed(snapshot)

        self._recorder.emit(make)

    def _fields(self, scanned: Tree) -> dict[str, Any]:
        """What an event says of a tree, which is put on the tape, beside the one before it."""
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

    def _without_secret_names(self, tree: Tree) -> Tree:
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


def _newly_left_out(before: Tree, tree: Tree) -> list[NotCaptured]:
    known = {(entry.path, entry.content) for entry in before if entry.kind == _LEFT}
    new = [e for e in tree if e.kind == _LEFT and (e.path, e.content) not in known]
    return [
        NotCaptured(path=entry.name, why=entry.content.decode("utf-8", "replace"))
        for entry in new[:_NAMES]
    ]


def _own_files(tape: Path | None, root: Path) -> list[bytes]:
    """The tape and what SQLite keeps beside it, as paths in the folder."""
    if tape is None:
        return []
    with suppress(OSError, ValueError):
        inside = tape.resolve().relative_to(root.resolve())
        return [os.fsencode(path) for path in with_companions(inside)]
    return []
