"""What probes say in lines of JSON: over a unix socket with descriptors, or through a named pipe.

A connection says one or more lines, and its descriptors come with the first. Few are answered, so
that hardly anybody waits for the recorder. Node can wait for no socket, but it can write to a named
pipe: what is long it puts into a file beside it, and there it finds its answers. Knows nothing of
what the lines mean.
"""

import os
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from rerail.probe.log import read_words
from rerail.proxy.beside import Beside

if TYPE_CHECKING:
    import asyncio

_ONE_READ: Final = 1 << 16
_DESCRIPTORS: Final = 16
_LONGEST_LINE: Final = 32 << 20
_BACKLOG: Final = 512
_NAME: Final = re.compile(r"[\w-]{1,60}")

Said = dict[str, Any]
Hear = Callable[[Said, Sequence[int]], Said | None]
"""Told one line, gives the answer if there is one; whoever hears owns the descriptors."""


class RunChannel:
    """Listens at a path, from before the command starts; `attend` once the loop runs."""

    def __init__(self, path: Path) -> None:
        self._beside = Beside(path.with_name("c"))
        os.mkfifo(path.with_name("pokes"), 0o600)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listener.bind(str(path))
            self._listener.listen(_BACKLOG)
            self._listener.setblocking(False)
        except OSError:
            self._listener.close()
            self._beside.close()
            raise
        # Open for both, so that there is never nobody: writers neither wait nor fail.
        self._pokes = os.open(path.with_name("pokes"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._poked = bytearray()
        self._hear: Hear = _deaf
        # In the order in which they came: what is said on a later one was said later.
        self._connections: dict[_Connection, None] = {}

    def attend(self, hear: Hear) -> None:
        """Begin to hear."""
        self._hear = hear
        loop = _running_loop()
        loop.add_reader(self._listener, self._accept)
        loop.add_reader(self._pokes, self._take_pokes)

    def finish(self) -> None:
        """Hear what was said already, and no more."""
        self._accept()
        for connection in list(self._connections):
            connection.end()
        self._take_pokes()
        _running_loop().remove_reader(self._listener)
        _running_loop().remove_reader(self._pokes)
        self.close()

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()
        self._beside.close()
        if self._pokes >= 0:
            os.close(self._pokes)
            self._pokes = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                accepted, _ = self._listener.accept()
                connection = _Connection(accepted, self._hear, self._readable, self._over)
                self._connections[connection] = None
                self._readable(connection)

    def _readable(self, connection: "_Connection") -> None:
        """Something was said: what was said on earlier connections is heard first."""
        for other in list(self._connections):
            other.take()
            if other is connection:
                return

    def _over(self, connection: "_Connection") -> None:
        self._connections.pop(connection, None)

    def _take_pokes(self) -> None:
        with suppress(BlockingIOError):
            while piece := os.read(self._pokes, _ONE_READ):
                self._poked += piece
                *lines, rest = self._poked.split(b"\n")
                self._poked = rest
                for line in lines:
                    self._poke(bytes(line))

    def _poke(self, line: bytes) -> None:
        said = _read(line)
        if said is not None and "file" in said:
            said = _read(self._content(str(said["file"])))
        if said is None:
            return
        name = str(said.pop("answer", ""))
        answer = self._hear(said, ())
        if answer is not None and _NAME.fullmatch(name):
            self._beside.put(name, msgspec.json.encode(answer))

    def _content(self, name: str) -> bytes:
        """What a file holds, which is not needed any more."""
        return self._beside.take(name) if _NAME.fullmatch(name) else b""


class _Connection:
    """One probe, saying something."""

    def __init__(
        self,
        accepted: socket.socket,
        hear: Hear,
        readable: Callable[["_Connection"], None],
        over: Callable[["_Connection"], None],
    ) -> None:
        accepted.setblocking(False)
        self._socket = accepted
        self._hear = hear
        self._over = over
        self._said = bytearray()
        self._descriptors: list[int] = []
        self._loop = _running_loop()
        self._loop.add_reader(accepted, readable, self)

    def take(self) -> None:
        """Take what has come."""
        try:
            while self._take():
                pass
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close()

    def end(self) -> None:
        """Take what has come; there will be no more."""
        self.take()
        self._close()

    def _take(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._socket, _ONE_READ, _DESCRIPTORS)
        self._descriptors += descriptors
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        if not data or len(self._said) > _LONGEST_LINE:
            return False
        self._said += data
        while b"\n" in data:
            line, _, rest = bytes(self._said).partition(b"\n")
            self._said[:] = data = rest
            self._line(line)
        return True

    def _line(self, line: bytes) -> None:
        descriptors, self._descriptors = self._descriptors, []
        said = _read(line)
        if said is None:
            _close_all(descriptors)
            return
        answer = self._hear(said, descriptors)
        if answer is not None:
            # Small, and the first thing on this side of the connection: it goes out at once.
            with suppress(OSError):
                self._socket.send(msgspec.json.encode(answer) + b"\n")

    def _close(self) -> None:
        if self._socket.fileno() < 0:
            return
        self._loop.remove_reader(self._socket)
        self._socket.close()
        _close_all(self._descriptors)
        self._over(self)


def _running_loop() -> "asyncio.AbstractEventLoop":
    import asyncio  # a recording opens its socket before the loop's half is loaded

    return asyncio.get_running_loop()


def _read(line: bytes) -> Said | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _read_tolerantly(line)


def _read_tolerantly(line: bytes) -> Said | None:
    """Words of a command need not be Unicode."""
    try:
        said = read_words(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _deaf(said: Said, descriptors: Sequence[int]) -> Said | None:
    _close_all(descriptors)
    return None


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)
