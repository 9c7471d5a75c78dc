"""Folders below one, each reached name by name from its descriptor, and no name is a link.

What is in a folder may be a stranger's, and may change while it is looked at: a folder that has
been listed may be a link a moment later. Knows no tree.
"""

import errno
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_LONGEST: Final = 4000
"""Bytes of a folder's path at most: what is in a deeper one could not be named (PATH_MAX)."""


class Below:
    """A folder held open, and of those in it what leads to the one that was asked for last."""

    def __init__(self, root: Path, *, follow: bool = False) -> None:
        """`follow`: the folder itself may be named by a link. Raises OSError."""
        self.root = os.open(root, FOLDER & ~os.O_NOFOLLOW if follow else FOLDER)
        self._open: dict[bytes, int] = {b"": self.root}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)

    def folder(self, path: bytes) -> int:
        """A descriptor of a folder, ours. Raises OSError."""
        if path in self._open:
            return self._open[path]
        if len(path) > _LONGEST:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        descriptor, place = self.root, b""
        for name in path.split(b"/"):
            parent, place = descriptor, place + b"/" + name if place else name
            descriptor = self._open.get(place, -1)
            if descriptor < 0:
                descriptor = os.open(name, FOLDER, dir_fd=parent)
                self._let_go_of(place)
                self._open[place] = descriptor
        return descriptor

    def parent(self, path: bytes) -> tuple[int, bytes]:
        """The folder that a path is in, and the name it has there. Raises OSError."""
        folder, _, name = path.rpartition(b"/")
        return self.folder(folder), name

    def forget(self, path: bytes) -> None:
        """What was at this path is not there any more."""
        for inner in [known for known in self._open if is_in(known, path)]:
            os.close(self._open.pop(inner))

    def _let_go_of(self, path: bytes) -> None:
        """Keep open only what leads to `path`: a tree may have more folders than descriptors."""
        for known in [known for known in self._open if known and not is_in(path, known)]:
            os.close(self._open.pop(known))


def is_in(path: bytes, folder: bytes) -> bool:
    """Whether a path is this folder's or in it."""
    return path == folder or path.startswith(folder + b"/")
