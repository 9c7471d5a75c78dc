"""A keep-alive HTTP/1.1 client connection with as little of its own as can be.

It reaches an origin directly, or through the proxy that the environment names, with the CA that
SSL_CERT_FILE names: the two things that a recorder may set. It must not know what is measured.
"""

import asyncio
import base64
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic_ns
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_SENT: Final = re.compile(rb'"sent": (\d+)\}\n\n')
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
BUFFER_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Route:
    """How an origin is reached: `proxy` is (host, port, value of Proxy-Authorization)."""

    scheme: str
    host: str
    port: int
    proxy: tuple[str, int, bytes] | None
    tls: ssl.SSLContext | None

    @classmethod
    def to(cls, url: str, environment: Mapping[str, str] = os.environ) -> "Route":
        """The route to a URL's origin as the proxy variables of the environment say."""
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port or 0
        variable = f"{scheme}_proxy"
        through = environment.get(variable) or environment.get(variable.upper()) or ""
        bundle = environment.get("SSL_CERT_FILE")
        tls = ssl.create_default_context(cafile=bundle) if scheme == "https" else None
        return cls(scheme, host, port, _proxy(through) if through else None, tls)

    @property
    def authority(self) -> bytes:
        """`host:port`, as Host and CONNECT have it."""
        return b"%s:%d" % (self.host.encode(), self.port)

    def head(self, method: bytes, path: bytes, fields: bytes) -> bytes:
        """A request head up to its further fields; absolute-form towards a proxy (RFC 9112 3.2.2).

        `fields` are complete lines.
        """
        target, extra = path, b""
        if self.proxy is not None and self.tls is None:
            target = b"http://" + self.authority + path
            extra = _authorization(self.proxy[2])
        return b"%s %s HTTP/1.1\r\nHost: %s\r\n" % (method, target, self.authority) + extra + fields


def _proxy(url: str) -> tuple[str, int, bytes]:
    parts = urlsplit(url)
    if parts.username is None:
        return parts.hostname or "", parts.port or 80, b""
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return parts.hostname or "", parts.port or 80, b"Basic " + base64.b64encode(user.encode())


def _authorization(value: bytes) -> bytes:
    return b"Proxy-Authorization: %s\r\n" % value if value else b""


class Reader(Protocol):
    """Takes the bytes of one reply as they come; says True when the reply is complete."""

    def feed(self, data: bytes) -> bool: ...


class WholeReply:
    """A reply with a Content-Length, kept whole."""

    __slots__ = ("_needed", "content")

    def __init__(self) -> None:
        self.content = b""
        self._needed = 0

    def feed(self, data: bytes) -> bool:
        self.content = self.content + data if self.content else data
        if not self._needed:
            end = self.content.find(_HEAD_END)
            if end < 0:
                return False
            length = _LENGTH.search(self.content, 0, end)
            self._needed = end + len(_HEAD_END) + (int(length[1]) if length else 0)
        return len(self.content) >= self._needed


class CountedReply:
    """A large reply with a Content-Length, counted and thrown away."""

    __slots__ = ("_head", "needed", "size")

    def __init__(self) -> None:
        self.size = 0
        self.needed = -1
        self._head = b""

    def feed(self, data: bytes) -> bool:
        if self.needed < 0:
            self._head += data
            end = self._head.find(_HEAD_END)
            if end < 0:
                return False
            length = _LENGTH.search(self._head, 0, end)
            self.needed = int(length[1]) if length else 0
            self.size = len(self._head) - end - len(_HEAD_END)
        else:
            self.size += len(data)
        return self.size >= self.needed


class ChunkedReply:
    """A chunked reply, thrown away as it comes."""

    __slots__ = ("_end",)

    def __init__(self) -> None:
        self._end = b""

    def feed(self, data: bytes) -> bool:
        self._end = (self._end + data)[-len(_LAST_CHUNK) :]
        return self._end == _LAST_CHUNK


class EventReply:
    """A chunked event stream whose events carry the monotonic time at which they were sent.

    `delays` has, for each event, the nanoseconds from its sending to its arrival; `first_at` is
    the monotonic time at which the first of them arrived.
    """

    __slots__ = ("_rest", "delays", "first_at")

    def __init__(self) -> None:
        self.delays: list[int] = []
        self.first_at = 0
        self._rest = b""

    def feed(self, data: bytes) -> bool:
        now = monotonic_ns()
        content, end = self._rest + data, 0
        for event in _SENT.finditer(content):
            self.delays.append(now - int(event[1]))
            end = event.end()
        if self.delays and not self.first_at:
            self.first_at = now
        self._rest = content[end:]
        return content.endswith(_LAST_CHUNK)


class _Established:
    """The proxy's answer to a CONNECT."""

    def __init__(self) -> None:
        self.head = b""

    def feed(self, data: bytes) -> bool:
        self.head += data
        return _HEAD_END in self.head


class Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    __slots__ = ("_done", "_reader", "_transport", "_writable")

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reader: Reader | None = None
        self._done: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    @classmethod
    async def open(cls, route: Route) -> "Connection":
        """Connect, through the proxy where there is one. Raises OSError."""
        loop = asyncio.get_running_loop()
        if route.proxy is None:
            tls, host = route.tls, route.host
            return (await loop.create_connection(cls, host, route.port, ssl=tls))[1]
        host, port, authorization = route.proxy
        transport, connection = await loop.create_connection(cls, host, port)
        if route.tls is not None:
            await connection._establish(route, authorization)
            secure = await loop.start_tls(
                transport, connection, route.tls, server_hostname=route.host
            )
            assert isinstance(secure, asyncio.Transport)
            connection._transport = secure
        return connection

    async def _establish(self, route: Route, authorization: bytes) -> None:
        head = b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n" % (route.authority, route.authority)
        answer = _Established()
        await self.exchange(head + _authorization(authorization) + b"\r\n", answer)
        if b" 200 " not in answer.head.split(b"\r\n")[0]:
            raise ConnectionError(f"the proxy refused CONNECT: {answer.head!r}")

    def send(self, data: bytes) -> None:
        """Write without waiting."""
        assert self._transport is not None
        self._transport.write(data)

    async def drained(self) -> None:
        """Return when more may be written."""
        await self._writable.wait()

    def expect(self, reader: Reader) -> asyncio.Future[None]:
        """Give the next reply to this reader; done when it is complete."""
        self._reader = reader
        self._done = asyncio.get_running_loop().create_future()
        return self._done

    async def exchange(self, request: bytes, reader: Reader) -> None:
        """Send a request and return when its reply is complete."""
        done = self.expect(reader)
        self.send(request)
        await done

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=BUFFER_BYTES)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        done = self._done
        if self._reader is not None and self._reader.feed(data) and done and not done.done():
            self._reader = None
            done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        if self._done is not None and not self._done.done():
            self._done.set_exception(exc or ConnectionResetError("closed before the reply ended"))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
