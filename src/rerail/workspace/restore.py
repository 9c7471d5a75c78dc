"""Puts a tree, or the difference of two trees, into a folder. Follows no link, leaves no folder.

A tree may come from a stranger and the folder may hold what a stranger's program left in it. So
every place is reached name by name from the folder's own descriptor, and no name is a link.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final

from rerail.tape.trees import Entry, Tree
from rerail.workspace.below import FOLDER, Below
from rerail.workspace.changes import changes, held

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_BITS: Final = 0o777
"""Programs that run as somebody else are not made out of a tape."""

_FOLDER_BITS: Final = 0o1777
_WHILE_FILLED: Final = 0o700

Contents = Callable[[bytes], Iterable[bytes]]
"""Gives a content by its digest, in pieces."""


def restore(tree: Tree, folder: Path, contents: Contents) -> None:
    """Make `folder` what `tree` says; it must be there and empty.

    What was left out of the tree is not there afterwards, but for folders, which are there empty.
    Raises OSError, and what `contents` raises.
    """
    with _Place.at(folder) as place:
        _make(tree, place, contents)


def apply(before: Tree, after: Tree, folder: Path, contents: Contents) -> None:
    """Change in `folder` what differs between two trees, and nothing else.

    What stands in the way of a path that `after` has is removed; what was left out of either tree
    stays as it is. Raises OSError.
    """
    found = changes(held(before), held(after), same=_is_same)
    gone = [*found.removed, *(was for was, now in found.changed if _must_go(was, now))]
    new = [*found.added, *(now for _, now in found.changed)]
    # A folder gets its time again after something in it was touched.
    touched = {entry.path.rpartition(b"/")[0] for entry in (*gone, *new) if entry.path}
    made = {entry.path for entry in new}
    with _Place.at(folder) as place:
        for entry in sorted(gone, key=_path, reverse=True):
            place.remove(entry.path)
        _make((e for e in after if e.path in made or e.path in touched), place, contents)


def _path(entry: Entry) -> bytes:
    return entry.path


def _is_same(one: Entry, other: Entry) -> bool:
    return one == other


def _must_go(was: Entry, now: Entry) -> bool:
    """A folder that stays one is changed where it is; all else is made anew."""
    return not (was.is_folder and now.is_folder)


def _make(entries: Iterable[Entry], place: "_Place", contents: Contents) -> None:
    """In order of their paths; times and modes of folders last, the innermost first."""
    folders = []
    for entry in entries:
        if entry.is_folder:
            place.make_folder(entry.path)
            folders.append(entry)
        elif entry.kind == "file":
            place.write(entry, contents(entry.content))
        elif entry.kind == "link":
            place.link(entry)
    for entry in reversed(folders):
        place.finish_folder(entry)


class _Place:
    """A folder held open; what is in it is reached from there."""

    def __init__(self, below: Below) -> None:
        self._below = below

    @classmethod
    @contextmanager
    def at(cls, folder: Path) -> Iterator["_Place"]:
        with Below(folder) as below:
            yield cls(below)

    def make_folder(self, path: bytes) -> None:
        if not path:
            return
        parent, name = self._below.parent(path)
        try:
            os.mkdir(name, _WHILE_FILLED, dir_fd=parent)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
                os.unlink(name, dir_fd=parent)
                os.mkdir(name, _WHILE_FILLED, dir_fd=parent)

    def finish_folder(self, entry: Entry) -> None:
        descriptor = self._below.folder(entry.path)
        os.fchmod(descriptor, stat.S_IMODE(entry.mode) & _FOLDER_BITS)
        os.utime(descriptor, ns=(entry.mtime_ns, entry.mtime_ns))

    def write(self, entry: Entry, pieces: Iterable[bytes]) -> None:
        parent, name = self._below.parent(entry.path)
        self._clear(parent, name)
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=parent)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fchmod(descriptor, stat.S_IMODE(entry.mode) & _FILE_BITS)
            os.utime(descriptor, ns=(entry.mtime_ns, entry.mtime_ns))

    def link(self, entry: Entry) -> None:
        parent, name = self._below.parent(entry.path)
        self._clear(parent, name)
        os.symlink(entry.content, name, dir_fd=parent)
        times = (entry.mtime_ns, entry.mtime_ns)
        os.utime(name, ns=times, dir_fd=parent, follow_symlinks=False)

    def remove(self, path: bytes) -> None:
        """Remove a file, a link, or a folder with all that has come into it; what is gone is."""
        with suppress(FileNotFoundError, NotADirectoryError):
            parent, name = self._below.parent(path)
            self._clear(parent, name)
        self._below.forget(path)

    def _clear(self, parent: int, name: bytes) -> None:
        try:
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except (IsADirectoryError, PermissionError):
            _remove_folder(parent, name)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, whatever its modes. Raises OSError."""
    parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _remove_folder(parent, os.fsencode(folder.name))
    finally:
        os.close(parent)


def _remove_folder(parent: int, name: bytes) -> None:
    """However deep it is, few folders of it are open at once: those within go to its top first."""
    top = _open_whatever_its_mode(parent, name)
    try:
        waiting = _without_files(top)
        taken = frozenset(waiting)
        free = (name for name in map(b"%d".__mod__, count()) if name not in taken)
        while waiting:
            folder = waiting.pop()
            descriptor = _open_whatever_its_mode(top, folder)
            try:
                for inner in _without_files(descriptor):
                    waiting.append(next(free))
                    _move(inner, descriptor, waiting[-1], top)
            finally:
                os.close(descriptor)
            os.rmdir(folder, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)


def _without_files(folder: int) -> list[bytes]:
    """Remove from a folder all but the folders in it, which are told."""
    os.fchmod(folder, _WHILE_FILLED)
    folders = []
    for inner in map(os.fsencode, os.listdir(folder)):
        try:
            os.unlink(inner, dir_fd=folder)
        except (IsADirectoryError, PermissionError):
            folders.append(inner)
    return folders


def _move(name: bytes, folder: int, there: bytes, top: int) -> None:
    """Move a folder, which must be one that can be written."""
    descriptor = _open_whatever_its_mode(folder, name)
    try:
        os.fchmod(descriptor, _WHILE_FILLED)
    finally:
        os.close(descriptor)
    os.rename(name, there, src_dir_fd=folder, dst_dir_fd=top)


def _open_whatever_its_mode(parent: int, name: bytes) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=parent)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
    # By way of /proc, since chmod(2) itself would follow a link that has taken the name since.
    handle = os.open(name, FOLDER | os.O_PATH, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(_WHILE_FILLED)
    finally:
        os.close(handle)
    return os.open(name, FOLDER, dir_fd=parent)
