"""Who is writing a tape: an advisory lock (flock) on the tape file, held while it is written.

SQLite's own locks are of another kind (fcntl) and never meet this one. They have a trap: closing
*any* descriptor of a file drops all fcntl locks this process has on it. So the files that this
process is writing are known here, and nobody opens them except through SQLite.
"""

import fcntl
import os
import threading
import time
from pathlib import Path
from typing import Final, Self

from rerail.errors import TapeBusy

_PATIENCE_SECONDS: Final = 0.5
_written_here: dict[tuple[int, int], Path] = {}
_guard = threading.Lock()


class WriterLock:
    """The right to write one tape."""

    __slots__ = ("_descriptor", "_identity")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._identity = _identity(os.fstat(descriptor))

    @classmethod
    def take(cls, path: Path, descriptor: int) -> Self:
        """Lock the open file `descriptor`, which is at `path`; both are given up on TapeBusy."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not _try(descriptor, fcntl.LOCK_EX):
            # A reader that looks whether anyone writes holds the lock for a moment.
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise busy(path)
            time.sleep(0.005)
        lock = cls(descriptor)
        with _guard:
            _written_here[lock._identity] = path
        return lock

    def holds(self, path: Path) -> bool:
        """Whether the file at `path` is still the locked one."""
        try:
            return _identity(path.stat()) == self._identity
        except FileNotFoundError:
            return False

    @property
    def descriptor(self) -> int:
        """The locked file."""
        return self._descriptor

    def sync(self) -> None:
        """Bring what the file holds to the disk."""
        os.fsync(self._descriptor)

    def release(self) -> None:
        """Let others have the file. Only after SQLite has closed it; doing it again is nothing."""
        if self._descriptor >= 0:
            with _guard:
                _written_here.pop(self._identity, None)
            os.close(self._descriptor)
            self._descriptor = -1


def written_here(path: Path) -> bool:
    """Whether this very process is writing the file at `path`."""
    with _guard:
        return _identity(path.stat()) in _written_here


def being_written(path: Path) -> bool:
    """Whether a living process holds the tape at `path` for writing."""
    if written_here(path):
        return True
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not _try(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def busy(path: Path) -> TapeBusy:
    return TapeBusy(
        f"another process is writing {path}",
        hint="wait until it has ended, or record to another file",
    )


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
