"""One connection to a test origin: what arrived, and what a script may do with it.

It reads HTTP/1.1 with its own few lines and must not know `rerail.wire`: an origin that shared its
parser with the proxy under test would share its mistakes.
"""

import contextlib
import hashlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rerail.clock import RunClock
from rerail.testing.tls import READ_SIZE, ServerTLS, TLSChannel

LINGER_SECONDS: Final = 2.0


class ScriptStopped(Exception):
    """The origin is closing, or the peer has gone: the script ends here, and that is no fault."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One send of the origin: how many bytes, and when (ns since the origin began)."""

    size: int
    at: int


class Connection:
    """A peer, seen from a script. Every method raises `ScriptStopped` when the peer has gone."""

    def __init__(
        self,
        peer: socket.socket,
        *,
        number: int,
        closing: threading.Event,
        clock: RunClock,
        keep: int,
        noticed: Callable[["Request | None"], None],
    ) -> None:
        self.number = number
        self.requests: list[Request] = []
        self.received = bytearray()
        self.sent: list[Sent] = []
        self.closed = False
        self.server_name: str | None = None
        self._peer = peer
        self._tls: TLSChannel | None = None
        self._closing = closing
        self._clock = clock
        self._keep = keep
        self._noticed = noticed
        self._unread = bytearray()

    def secure(self, tls: ServerTLS) -> None:
        """Do the TLS handshake as the server; `server_name` is then what the client asked for."""
        self._tls, self.server_name = tls.handshake(self._peer)

    # -- what a script says ---------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send these bytes in one write."""
        self.sent.append(Sent(len(data), self._clock.at()))
        try:
            (self._tls.send if self._tls else self._peer.sendall)(data)
        except OSError as error:
            raise ScriptStopped from error

    def pause(self, seconds: float) -> None:
        """Say nothing for a while; ends at once when the origin closes."""
        if self._closing.wait(seconds):
            raise ScriptStopped

    def wait_for(self, event: threading.Event, *, seconds: float = 30.0) -> None:
        """Say nothing until the test sets this event."""
        deadline = self._clock.at() + int(seconds * 1e9)
        while not event.wait(0.02):
            if self._closing.is_set() or self._clock.at() > deadline:
                raise ScriptStopped

    # -- what a script hears --------------------------------------------------------------------

    def receive(self) -> bytes:
        """What has arrived and was not read yet, at least one byte; empty at the end."""
        if not self._unread:
            self._fill()
        data = bytes(self._unread)
        self._unread.clear()
        return data

    def read_exactly(self, size: int) -> bytes:
        """These many bytes; fewer only where the peer ended."""
        while len(self._unread) < size and self._fill():
            pass
        return self._take(size)

    def read_until(self, mark: bytes) -> bytes:
        """Up to and with the mark; all there is where the peer ended before it."""
        searched = 0
        while (found := self._unread.find(mark, searched)) < 0:
            searched = max(0, len(self._unread) - len(mark) + 1)
            if not self._fill():
                return self._take(len(self._unread))
        return self._take(found + len(mark))

    def read_request(self) -> "Request | None":
        """The head of the next request, its body not yet read; `None` where the peer ended."""
        head = self.read_until(b"\r\n\r\n")
        if not head.endswith(b"\r\n\r\n"):
            return None
        request = Request(self, head)
        self.requests.append(request)
        self._noticed(request)
        return request

    def hold(self) -> None:
        """Keep listening, saying nothing, until the peer or the origin closes."""
        while self._fill():
            self._unread.clear()

    def end_sending(self) -> None:
        """Send close_notify (over TLS) and a FIN, and go on listening: a half-close."""
        with contextlib.suppress(OSError):
            if self._tls is not None:
                self._tls.say_goodbye()
            self._peer.shutdown(socket.SHUT_WR)

    # -- how a script ends ----------------------------------------------------------------------

    def close(self) -> None:
        """Close in good order: TLS close_notify, FIN, and what the peer still sends is read."""
        if self._tls is not None and not self.closed:
            with contextlib.suppress(OSError):
                self._tls.say_goodbye()
        self.cut()

    def cut(self) -> None:
        """Close with a bare FIN: over TLS the peer sees a truncated stream."""
        if self.closed:
            return
        self.closed = True
        # Closing with unread bytes makes the kernel send a reset, which can destroy what was sent.
        with contextlib.suppress(OSError):
            self._peer.shutdown(socket.SHUT_WR)
            self._peer.settimeout(LINGER_SECONDS)
            while self._peer.recv(READ_SIZE):
                pass
        self._peer.close()

    def reset(self) -> None:
        """Close with a RST: the peer sees a connection reset."""
        self.closed = True
        with contextlib.suppress(OSError):
            self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._peer.close()

    def interrupt(self) -> None:
        """Wake a script that reads or writes, from another thread: its next call raises."""
        with contextlib.suppress(OSError):
            self._peer.shutdown(socket.SHUT_RDWR)

    # -- inside ---------------------------------------------------------------------------------

    def _take(self, size: int) -> bytes:
        data = bytes(self._unread[:size])
        del self._unread[:size]
        return data

    def _fill(self) -> bool:
        try:
            data = self._tls.receive() if self._tls else self._peer.recv(READ_SIZE)
        except OSError as error:
            raise ScriptStopped from error
        self._unread += data
        self.received += data[: max(0, self._keep - len(self.received))]
        self._noticed(None)
        return bool(data)


class Request:
    """A request as it arrived. The body is read when a script asks, so that a script may refuse it.

    `body` holds at most 1 MiB of it; `body_size` and `body_sha256` are of the whole, decoded from
    its chunks. `trailers` are filled once the body has been read.
    """

    KEEP: Final = 1 << 20

    def __init__(self, connection: Connection, head: bytes) -> None:
        self.head = head
        lines = head.decode("latin-1").split("\r\n")
        self.method, _, rest = lines[0].partition(" ")
        self.target, _, self.version = rest.rpartition(" ")
        self.headers = tuple(_field(line) for line in lines[1:] if line)
        self.trailers: tuple[tuple[str, str], ...] = ()
        self.body = b""
        self.body_size = 0
        self.body_chunks: list[int] = []
        self._hash = hashlib.sha256()
        self._connection = connection
        self._blocks = self._read_blocks()

    @property
    def path(self) -> str:
        """The target without scheme, host and query."""
        target = self.target
        if "://" in target:
            target = "/" + target.split("://", 1)[1].partition("/")[2]
        return target.partition("?")[0]

    @property
    def query(self) -> str:
        """What stands behind the question mark."""
        return self.target.partition("?")[2]

    @property
    def body_sha256(self) -> str:
        """Hex digest of the body read so far."""
        return self._hash.hexdigest()

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        values = self.header_values(name)
        return values[0] if values else None

    def header_values(self, name: str) -> list[str]:
        """All values of a header, in order."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    @property
    def wants_close(self) -> bool:
        """Whether the connection ends with this request's reply."""
        said = (self.header("connection") or "").lower()
        return "close" in said or (self.version == "HTTP/1.0" and "keep-alive" not in said)

    def blocks(self) -> Iterator[bytes]:
        """The rest of the body, in the pieces in which it arrived (or its chunks)."""
        return self._blocks

    def read(self) -> bytes:
        """Read the body to its end; returns what is kept of it."""
        for _ in self._blocks:
            pass
        return self.body

    def _read_blocks(self) -> Iterator[bytes]:
        source = self._chunks() if self._is_chunked() else self._counted()
        for block in source:
            self._hash.update(block)
            self.body_size += len(block)
            self.body += block[: max(0, self.KEEP - len(self.body))]
            yield block

    def _is_chunked(self) -> bool:
        return "chunked" in (self.header("transfer-encoding") or "").lower()

    def _counted(self) -> Iterator[bytes]:
        left = int(self.header("content-length") or 0)
        while left:
            block = self._connection.read_exactly(min(left, READ_SIZE))
            if not block:
                raise ScriptStopped
            left -= len(block)
            yield block

    def _chunks(self) -> Iterator[bytes]:
        while size := self._chunk_size():
            self.body_chunks.append(size)
            while size:
                block = self._connection.read_exactly(min(size, READ_SIZE))
                if not block:
                    raise ScriptStopped
                size -= len(block)
                yield block
            self._connection.read_exactly(2)
        trailers = []
        while (line := self._connection.read_until(b"\r\n")) not in (b"\r\n", b""):
            trailers.append(_field(line.decode("latin-1").rstrip("\r\n")))
        self.trailers = tuple(trailers)

    def _chunk_size(self) -> int:
        line = self._connection.read_until(b"\r\n")
        if not line.endswith(b"\r\n"):
            raise ScriptStopped
        return int(line.partition(b";")[0], 16)


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.strip()
