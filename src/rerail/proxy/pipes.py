"""Descriptors that stand between an agent and its child: bytes go on at once, and are told.

A pipe led through here behaves as one pipe: when the writer closes it the reader sees its end, when
the reader is gone the writer is told by its next write, and a reader that waits makes the writer
wait. Knows nothing of what the bytes are.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

ONE_READ: Final = 65536

PipeEnd = Literal["complete", "reset", "cut"]
"""The writer closed it; the reader went away first; we ended it."""


class Copying:
    """Copies from one descriptor to another and owns both.

    `passed` hears every piece after it was read; `ended` is called once. While `congested` says so
    nothing more is read. `first` is what was read from the source before.
    """

    def __init__(
        self,
        source: int,
        target: int,
        passed: Callable[[bytes], None],
        ended: Callable[[PipeEnd], None],
        congested: Callable[[], bool] = lambda: False,
        *,
        first: bytes = b"",
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._target = of_our_own(target)
        self._passed = passed
        self._ended = ended
        self._congested = congested
        self._left = b""
        os.set_blocking(source, False)
        try:
            self._loop.add_reader(source, self._readable)
            # A pipe that nobody reads any more reports an error to who watches its writing end.
            self._loop.add_reader(self._target, self._target_changed)
        except OSError:  # no pipe, nor anything else that can be waited for
            self._end("reset")
            return
        if first:
            self._write(first)

    @property
    def open(self) -> bool:
        """Whether more may come."""
        return self._source >= 0

    def close(self) -> None:
        """Take what is there now, and end."""
        while self.open and not self._left and self._read_once():
            pass
        self._end("cut")

    def _readable(self) -> None:
        if self._congested():
            self._loop.remove_reader(self._source)
            self._loop.call_later(0.01, self._resume)
            return
        self._read_once()

    def _resume(self) -> None:
        if self.open and not self._left:
            self._loop.add_reader(self._source, self._readable)

    def _read_once(self) -> bool:
        try:
            piece = os.read(self._source, ONE_READ)
        except BlockingIOError:
            return False
        except OSError:  # a socket whose other side was reset
            piece = b""
        if not piece:
            self._end("complete")
            return False
        self._passed(piece)
        self._write(piece)
        return self.open

    def _write(self, piece: bytes) -> None:
        try:
            written = os.write(self._target, piece)
        except BlockingIOError:
            written = 0
        except OSError:
            self._end("reset")
            return
        waited = bool(self._left)
        self._left = piece[written:]
        if self._left and not waited:
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._target, self._writable)
        elif waited and not self._left:
            self._loop.remove_writer(self._target)
            self._loop.add_reader(self._source, self._readable)

    def _writable(self) -> None:
        self._write(self._left)

    def _target_changed(self) -> None:
        self._end("reset")

    def _end(self, how: PipeEnd) -> None:
        if self._source < 0:
            return
        source, target = self._source, self._target
        self._source = self._target = -1
        self._loop.remove_reader(source)
        self._loop.remove_reader(target)
        self._loop.remove_writer(target)
        for descriptor in (source, target):
            with suppress(OSError):
                os.close(descriptor)
        self._ended(how)


def of_our_own(descriptor: int) -> int:
    """The same writing end, opened anew and never waiting.

    Whether it waits belongs to the opened file, which others may share: an agent's own pipe. What
    was not opened for writing stays so: whoever handed it over may be kept from writing there.
    """
    if not _may_write(descriptor):
        return descriptor
    try:
        anew = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        os.set_blocking(descriptor, False)
        return descriptor
    os.close(descriptor)
    return anew


def is_a_name(descriptor: int) -> bool:
    """Whether a descriptor only names a file (O_PATH): it gives no right to what is in it."""
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & getattr(os, "O_PATH", 0))


def _may_write(descriptor: int) -> bool:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    return not is_a_name(descriptor) and flags & os.O_ACCMODE != os.O_RDONLY
