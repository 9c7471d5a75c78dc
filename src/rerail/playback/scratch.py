"""The copy of the recorded folders that a replay works in: made before it, looked at after it.

It is what was recorded at the start, with the files on top that are otherwise now. The command may
write in it as it likes; the folder itself is only read. Starts nothing.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from rerail.launch.left import hold, left_in
from rerail.sandbox.view import Bind
from rerail.tape.reader import Tape
from rerail.tape.records import WorkspaceSnapshot
from rerail.tape.trees import Entry, Tree
from rerail.workspace.changes import Changes, changes, held, same_thing
from rerail.workspace.kept import Kept
from rerail.workspace.left_out import MADE_AGAIN, OWN
from rerail.workspace.present import Remembered, present_tree
from rerail.workspace.restore import apply, remove_folder, restore
from rerail.workspace.seen import Seen

_OWN: Final = OWN.encode()
_NOT_SHOWN: Final = MADE_AGAIN.encode()
_LIKENESS: Final = 0.5
_PREFIX: Final = "rerail-copy-"
_LOCK: Final = "lock"


@dataclass(slots=True)
class Copy:
    """One recorded folder and its copy.

    `laid_on_top` are paths that are otherwise now than they were recorded, `as_recorded` those that
    are too but that the run wrote itself, `shown` what was left out and is seen as it is now,
    `empty` what was left out and is not here. `led` are folders made for what was laid on top,
    `stand_ins` are the empty files that hold a place.
    """

    recorded: Path
    place: Path
    start: Tree
    end: Tree
    present: Path | None = None
    laid_on_top: list[str] = field(default_factory=list)
    as_recorded: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    stand_ins: list[str] = field(default_factory=list)
    led: list[str] = field(default_factory=list)

    @property
    def aside(self) -> set[bytes]:
        """What is there because it is there now: it says nothing of the run."""
        return {os.fsencode(name) for name in (*self.laid_on_top, *self.led)}


class Scratch:
    """All copies of one replay. Use it in a `with` block: they are removed at its end."""

    def __init__(self, base: Path, lock: int, copies: list[Copy]) -> None:
        self._base = base
        self._lock = lock
        self.copies = copies

    @classmethod
    def make(cls, tape: Tape, *, overlay: bool, present: Path | None = None) -> Self | None:
        """Make the copies; None where the tape has no snapshots.

        `present` is the folder that stands for the workspace now, where it is known.
        Raises NotOnTape, TapeAltered, OSError.
        """
        kept = Kept(tape)
        if not kept.all:
            return None
        folders = list(dict.fromkeys(event.folder for event in kept.all))

        def copied(base: Path) -> list[Copy]:
            copies = [_recorded(kept, name, base / str(at)) for at, name in enumerate(folders)]
            _find_present(copies)
            copies[0].present = present or copies[0].present
            if overlay:
                _lay_on_top(copies[0])
            return copies

        return cls._made(copied)

    @classmethod
    def at(cls, kept: Kept, moment: WorkspaceSnapshot) -> Self:
        """A copy of one folder as it was at one moment.

        Raises NotOnTape, TapeAltered, OSError.
        """
        tree = kept.tree(moment)

        def copied(base: Path) -> list[Copy]:
            copies = [_restored(kept, moment.folder, base / "0", tree, tree)]
            _find_present(copies)
            return copies

        return cls._made(copied)

    @classmethod
    def _made(cls, copied: Callable[[Path], list[Copy]]) -> Self:
        base = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with ExitStack() as where_it_fails:
            where_it_fails.callback(remove_folder, base)
            # Held as long as we live: copies whose lock nobody holds were left by a killed replay.
            lock = hold(base / _LOCK, b"\n")
            where_it_fails.callback(os.close, lock)
            copies = copied(base)
            for copy in copies:
                _show(copy, copy.start)
            where_it_fails.pop_all()
        return cls(base, lock, copies)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove what is left of the copies, and of those of replays that were killed."""
        with suppress(OSError):
            remove_folder(self._base)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        _remove_what_was_left(self._base.parent)

    @property
    def workspace(self) -> Copy:
        """The copy of the workspace itself."""
        return self.copies[0]

    @property
    def binds(self) -> list[Bind]:
        """Each copy at its recorded path, and in it what was left out, as it is now."""
        return [*(Bind(copy.place, copy.recorded) for copy in self.copies), *self._shown()]

    def seen(self, *, placed: bool) -> list[Seen]:
        """The copies as folders that are snapshotted in their turn."""
        return [
            Seen(
                copy.place,
                str(copy.recorded if placed else copy.place),
                also=copy is not self.workspace,
                not_its_own=tuple(map(os.fsencode, (*copy.shown, *copy.stand_ins))),
                held=tuple(entry.path for entry in held(copy.start) if entry.path),
            )
            for copy in self.copies
        ]

    def _shown(self) -> Iterator[Bind]:
        for copy in self.copies:
            for name in copy.shown:
                assert copy.present is not None
                yield Bind(copy.present / name, copy.recorded / name, read_only=True)

    def show_by_links(self) -> None:
        """Where nothing can be put at another path: links lead to what was left out."""
        for copy in self.copies:
            for name in copy.shown:
                assert copy.present is not None
                _replace_by_link(copy.place / name, copy.present / name)

    def place_of(self, folder: Path) -> Path:
        """Where the copy of a recorded folder is; the same path where there is no copy."""
        for copy in self.copies:
            if folder.is_relative_to(copy.recorded):
                return copy.place / folder.relative_to(copy.recorded)
        return folder

    def differences(self) -> Changes:
        """How the workspace's copy is now, against how the run left it; what was laid on top aside.

        Raises OSError.
        """
        copy = self.workspace
        tree = present_tree(copy.place, copy.start, Remembered(copy.start, copy.end))
        aside = copy.aside
        return changes(_without(copy.end, aside), _without(tree, aside), same=same_thing)

    def keep(self, target: Path) -> None:
        """Put the workspace's copy, as it is now, at `target`, a new path. Raises OSError."""
        for name in self.workspace.stand_ins:
            with suppress(OSError):
                if not (self.workspace.place / name).stat().st_size:
                    (self.workspace.place / name).unlink()
        shutil.move(self.workspace.place, target)


def _remove_what_was_left(place: Path) -> None:
    for folder, _ in left_in(place, _LOCK, prefix=_PREFIX):
        with suppress(OSError):
            remove_folder(folder)


def _without(tree: Tree, paths: set[bytes]) -> Tree:
    return tuple(entry for entry in held(tree) if entry.path not in paths)


def _recorded(kept: Kept, folder: str, place: Path) -> Copy:
    """What was recorded; of a run that was lost, the end is the last there is."""
    snapshots = kept.of(folder)
    return _restored(kept, folder, place, kept.tree(snapshots[0]), kept.tree(snapshots[-1]))


def _restored(kept: Kept, folder: str, place: Path, start: Tree, end: Tree) -> Copy:
    place.mkdir(mode=0o700)
    restore(start, place, kept.by_digest)
    return Copy(Path(folder), place, start, end)


def _find_present(copies: list[Copy]) -> None:
    """Where the folders are now; the workspace may have moved to where we are."""
    for copy in copies:
        copy.present = copy.recorded if copy.recorded.is_dir() else None
    copies[0].present = copies[0].present or _like(copies[0], Path.cwd())


def _like(copy: Copy, folder: Path) -> Path | None:
    """A folder that has most of the recorded files: the project has moved, or was cloned."""
    files = [entry for entry in copy.start if entry.kind == "file"]
    there = sum(os.path.lexists(folder / entry.name) for entry in files)
    return folder if files and there >= _LIKENESS * len(files) else None


def _lay_on_top(copy: Copy) -> None:
    """Changed code runs: what is otherwise now, unless it is so because the run made it so."""
    if copy.present is None:
        return
    now = present_tree(copy.present, copy.start, Remembered(copy.start, copy.end))
    start = {entry.path: entry for entry in copy.start}
    end = {entry.path: entry for entry in copy.end}
    new: list[Entry] = []
    left = [entry for entry in now if entry.kind == "left out" and entry.content != _OWN]
    left = [entry for entry in left if entry.path not in start and entry.path not in end]
    for entry in now:
        path = entry.path
        if entry.kind not in ("file", "link") or same_thing(start.get(path), entry):
            continue
        if same_thing(start.get(path), end.get(path)):
            new.append(entry)
            copy.laid_on_top.append(entry.name)
        elif not same_thing(end.get(path), entry):
            copy.as_recorded.append(entry.name)
    if new or left:
        _put(copy, now, new, left)
    _show(copy, left)


def _put(copy: Copy, now: Tree, new: list[Entry], left: list[Entry]) -> None:
    """Put present files into the copy, with the folders that lead to them and to what is shown."""
    assert copy.present is not None
    present, paths = copy.present, {entry.path for entry in new}
    names = {entry.content: entry.name for entry in new if entry.kind == "file"}
    leading = {parent for entry in (*new, *left) for parent in _parents(entry.path)}
    after = {entry.path: entry for entry in held(copy.start)}
    for entry in now:
        led = entry.path in leading and entry.path not in after
        if led:
            copy.led.append(entry.name)
        if led or entry.path in paths:
            after[entry.path] = entry
    tree = tuple(after[path] for path in sorted(after))

    def content(digest: bytes) -> Iterable[bytes]:
        with (present / names[digest]).open("rb") as file:
            while piece := file.read(1 << 20):
                yield piece

    apply(held(copy.start), tree, copy.place, content)


def _parents(path: bytes) -> Iterator[bytes]:
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _show(copy: Copy, tree: Iterable[Entry]) -> None:
    """What was left out is seen as it is now. What is not there now is empty: a listing names it.

    So are tapes, which are not to be read.
    """
    for entry in tree:
        if entry.kind != "left out" or entry.content == _NOT_SHOWN:
            continue
        _stand_in(copy, entry)
        here = copy.present is not None and _is_there(copy.present / entry.name, entry)
        if here and entry.content != _OWN:
            copy.shown.append(entry.name)
        elif entry.content != _OWN and not entry.is_folder and not _has_no_content(entry):
            copy.empty.append(entry.name)


def _is_there(place: Path, entry: Entry) -> bool:
    if place.is_symlink():
        return False
    return place.is_dir() if entry.is_folder else place.is_file()


def _stand_in(copy: Copy, entry: Entry) -> None:
    """An empty folder or file; a pipe or a socket of the same name leads to nobody."""
    place = copy.place / entry.name
    with suppress(OSError), _times_kept(place.parent):
        if entry.is_folder:
            place.mkdir(exist_ok=True)
        elif stat.S_ISREG(entry.mode):
            place.touch(exist_ok=False)
            copy.stand_ins.append(entry.name)
        elif _has_no_content(entry):
            os.mknod(place, stat.S_IFMT(entry.mode) | entry.mode & 0o777)


def _has_no_content(entry: Entry) -> bool:
    return stat.S_ISFIFO(entry.mode) or stat.S_ISSOCK(entry.mode)


def _replace_by_link(stand_in: Path, target: Path) -> None:
    with suppress(OSError), _times_kept(stand_in.parent):
        if stand_in.is_dir():
            stand_in.rmdir()
        else:
            stand_in.unlink()
        stand_in.symlink_to(target)


@contextmanager
def _times_kept(folder: Path) -> Iterator[None]:
    before = folder.stat()
    yield
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
