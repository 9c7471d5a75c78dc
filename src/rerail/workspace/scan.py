"""Walks a folder and says what is in it: its tree, read anew only where something was touched.

Knows no tape: a `keep` is given the open file and says its digest. Nothing is followed, whatever
becomes of the folder meanwhile; nothing in it is changed. Times are those that the file system puts
on files, given by who asks.
"""

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from rerail.tape.trees import Entry, Tree
from rerail.workspace.below import Below
from rerail.workspace.left_out import MARKERS, LeftOut
from rerail.workspace.stamps import Key, Stamps, key_of

RACY_NS: Final = 20_000_000
"""A file touched this shortly before it was read may be touched again with the same times."""

_SPECIAL: Final = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Keep = Callable[[int, os.stat_result, bool], tuple[bytes, int]]
"""Given an open file, what is known of it and whether it was asked for by name, gives its digest
and size. Raises `NotKept`."""


Mapped = Callable[[], Iterable[bytes]]
"""The files of the folder that some process of the run has mapped, to be written in memory. Asked
once a file was read: the first write to a page touches it (tmpfs excepted), further ones do not."""


class NotKept(Exception):
    """The content of a file is not kept: `why` in a few words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Scan:
    """A folder as it was found. `late` are the paths that were touched since the scan began."""

    tree: Tree
    late: frozenset[bytes] = field(default=frozenset())


class Scanner:
    """One folder, scanned again and again."""

    def __init__(
        self, root: Path, keep: Keep, left_out: LeftOut, mapped: Mapped = frozenset
    ) -> None:
        self._root = root
        self._place = os.fsencode(root)
        self._keep = keep
        self._left_out = left_out
        self._mapped = mapped
        self._known: dict[bytes, tuple[Key, Entry]] = {}
        self.stamps: Stamps | None = None

    def scan(self, began: int) -> Scan:
        """Walk the folder; `began` is the time that a file touched now would get.

        Raises OSError where the folder itself cannot be read.
        """
        with Below(self._root, follow=True) as below:
            walk = _Walk(began, below)
            entry = self._folder(b"", walk)
            if entry.kind != "folder":
                raise OSError(f"{entry.content.decode('utf-8', 'replace')}")
            walk.entries.append(entry)
            while walk.waiting:
                walk.entries.append(self._folder(walk.waiting.pop(), walk))
        if walk.has_read:
            walk.forget(self._mapped())
        self._known = walk.known
        self.stamps = walk.stamps if walk.stamps.usable else None
        walk.entries.sort(key=_path)
        return Scan(tuple(walk.entries), frozenset(walk.late))

    def _folder(self, path: bytes, walk: "_Walk") -> Entry:
        """A folder's own entry; what is in it goes to the walk, sub-folders wait."""
        place = self._place + b"/" + path if path else self._place
        first = len(walk.entries), len(walk.waiting)
        try:
            descriptor = walk.below.folder(path)
        except OSError as error:
            return self._unreadable(path, place, error, walk)
        try:
            with os.scandir(descriptor) as listing:
                why = self._list(_In(path, place, descriptor), listing, walk)
        except OSError as error:
            why = f"cannot be read: {error.strerror}"
        # Only now: whatever came or went while it was listed has touched it.
        facts = os.fstat(descriptor)
        walk.look_at(path, facts)
        if why:
            del walk.entries[first[0] :], walk.waiting[first[1] :]
            return self._left_whole(path, place, facts, why, walk)
        walk.stamp(place, key_of(facts))
        return Entry(path, "folder", facts.st_mode, 0, facts.st_mtime_ns)

    def _unreadable(self, path: bytes, place: bytes, error: OSError, walk: "_Walk") -> Entry:
        """A folder that may not be read, or that is none any more."""
        why = f"cannot be read: {error.strerror}"
        with suppress(OSError):
            parent, name = walk.below.parent(path)
            facts = os.lstat(name, dir_fd=parent)
            if stat.S_ISDIR(facts.st_mode):
                walk.look_at(path, facts)
                return self._left_whole(path, place, facts, why, walk)
        walk.late.append(path)
        return Entry(path, "left out", stat.S_IFDIR | 0o700, content=why.encode())

    def _left_whole(
        self, path: bytes, place: bytes, facts: os.stat_result, why: str, walk: "_Walk"
    ) -> Entry:
        walk.stamps.take_left(place, facts.st_mode, facts.st_mtime_ns)
        return Entry(path, "left out", facts.st_mode, 0, facts.st_mtime_ns, why.encode())

    def _list(self, parent: "_In", listing: Iterable["os.DirEntry[str]"], walk: "_Walk") -> str:
        """Take up what is listed; returns why the whole folder is left out, "" if it is not."""
        items = list(listing)
        if parent.path and not self._left_out.wanted(parent.path):
            for item in items:
                if item.name in MARKERS:
                    return MARKERS[item.name]
        for item in items:
            name = os.fsencode(item.name)
            inner = parent.path + b"/" + name if parent.path else name
            folder = item.is_dir(follow_symlinks=False)
            why = self._left_out.why(inner, folder=folder)
            if folder and not why:
                walk.waiting.append(inner)
                continue
            try:
                facts = item.stat(follow_symlinks=False)
                place = parent.place + b"/" + name
                if why:
                    entry = self._left(inner, facts, why)
                    walk.stamps.take_left(place, facts.st_mode, entry.mtime_ns)
                else:
                    entry = self._entry(_In(inner, name, parent.descriptor), facts, walk)
                    walk.stamp(place, key_of(facts))
            except FileNotFoundError:
                walk.late.append(inner)
                continue
            walk.entries.append(entry)
        return ""

    def _left(self, path: bytes, facts: os.stat_result, why: str) -> Entry:
        # Of a folder its own times: with them it can stand there empty. Of a file nothing.
        time = facts.st_mtime_ns if stat.S_ISDIR(facts.st_mode) else 0
        return Entry(path, "left out", facts.st_mode, 0, time, why.encode())

    def _entry(self, file: "_In", facts: os.stat_result, walk: "_Walk") -> Entry:
        key = key_of(facts)
        known = self._known.get(file.path)
        if known is not None and known[0] == key:
            walk.known[file.path] = known
            if facts.st_ctime_ns >= walk.began:
                walk.late.append(file.path)
            return known[1]
        entry = self._read(file, facts, walk)
        walk.look_at(file.path, facts)
        if max(facts.st_mtime_ns, facts.st_ctime_ns) < walk.began - RACY_NS:
            walk.known[file.path] = (key, entry)
        return entry

    def _read(self, file: "_In", facts: os.stat_result, walk: "_Walk") -> Entry:
        kind = stat.S_IFMT(facts.st_mode)
        try:
            if kind == stat.S_IFREG:
                return self._file(file, facts, walk)
            if kind == stat.S_IFLNK:
                target = os.readlink(file.place, dir_fd=file.descriptor)
                return Entry(file.path, "link", facts.st_mode, 0, facts.st_mtime_ns, target)
            why = _SPECIAL.get(kind, "neither file nor folder")
        except NotKept as refused:
            why = refused.why
        except FileNotFoundError:
            raise
        except OSError as error:
            why = f"cannot be read: {error.strerror}"
        return Entry(file.path, "left out", facts.st_mode, 0, 0, why.encode())

    def _file(self, file: "_In", facts: os.stat_result, walk: "_Walk") -> Entry:
        descriptor = os.open(file.place, _OPEN, dir_fd=file.descriptor)
        try:
            walk.has_read = True
            digest, size = self._keep(descriptor, facts, self._left_out.wanted(file.path))
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if after.st_ctime_ns != facts.st_ctime_ns or after.st_ino != facts.st_ino:
            walk.late.append(file.path)
        return Entry(file.path, "file", facts.st_mode, size, facts.st_mtime_ns, digest)


class _In(NamedTuple):
    """A path of the tree, where that is: of a folder, its own descriptor; of a file, its name in
    the folder that the descriptor is of."""

    path: bytes
    place: bytes
    descriptor: int


class _Walk:
    """What one scan has found so far."""

    __slots__ = ("began", "below", "entries", "has_read", "known", "late", "stamps", "waiting")

    def __init__(self, began: int, below: Below) -> None:
        self.began = began
        self.below = below
        self.entries: list[Entry] = []
        self.waiting: list[bytes] = []
        self.known: dict[bytes, tuple[Key, Entry]] = {}
        self.late: list[bytes] = []
        self.has_read = False
        self.stamps = Stamps()

    def stamp(self, place: bytes, key: Key) -> None:
        self.stamps.take(place, key, before=self.began - RACY_NS)

    def forget(self, mapped: Iterable[bytes]) -> None:
        """What is written through memory has no new times: it is read again, whatever they say."""
        for path in mapped:
            if self.known.pop(path, None) is not None:
                self.stamps.spoil()

    def look_at(self, path: bytes, facts: os.stat_result) -> None:
        if facts.st_ctime_ns >= self.began:
            self.late.append(path)


def _path(entry: Entry) -> bytes:
    return entry.path
