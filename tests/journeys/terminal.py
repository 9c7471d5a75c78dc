"""A terminal with one command on it, as a person sits before one. Knows nothing of rerail."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

# The command's own process takes the terminal as its controlling one, and hears its keys even where
# the tests are run in a background that ignores them; a shell would do the same.
TAKE_IT = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "signal.signal(signal.SIGINT, signal.SIG_DFL); signal.signal(signal.SIGQUIT, signal.SIG_DFL);"
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A pseudo-terminal; what the command writes is read with deadlines."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        rows: int = 24,
        columns: int = 80,
    ) -> None:
        self._ours, theirs = pty.openpty()
        self.seen = b""
        self.resize(rows, columns)
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_IT, *command],
            cwd=folder,
            env={**environment, "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def resize(self, rows: int, columns: int) -> None:
        """Give it another size; the kernel tells the programs on it."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        """Type on it."""
        os.write(self._ours, keys)

    def until(self, mark: bytes, *, seconds: float = 20.0) -> bytes:
        """Read on until this stands in what was written since the last call; returns that."""
        deadline = time.monotonic() + seconds
        while mark not in self.seen:
            if not self._read(deadline):
                raise TimeoutError(f"{mark!r} was not written, but {self.seen!r}")
        written, _, self.seen = self.seen.partition(mark)
        return written + mark

    def end(self, *, seconds: float = 30.0) -> int:
        """Read to the end; returns the exit status."""
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass
        return self.process.wait(seconds)

    def _read(self, deadline: float) -> bool:
        """Read what is there; False at the end. A terminal that nobody holds any more gives EIO."""
        left = max(0.0, deadline - time.monotonic())
        if not select.select([self._ours], [], [], left)[0]:
            return False
        piece = b""
        with contextlib.suppress(OSError):
            piece = os.read(self._ours, 65536)
        self.seen += piece
        return bool(piece)
