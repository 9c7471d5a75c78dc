"""The origin, a process of its own: a model API's replies, an event stream, large bodies.

Started with a folder, it writes its CA there, prints its two ports as JSON, and serves until its
standard input closes. It counts the requests that reach it: a replay must add none.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import monotonic_ns
from typing import Final
from urllib.parse import parse_qs, urlsplit

from bench.connection import BUFFER_BYTES
from bench.content import block, reply_body
from bench.processes import keep_to_last_processor
from rerail.testing.ca import CertificateAuthority
from rerail.testing.made_up_agent import Turn, turns

_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TURN: Final = re.compile(rb"\r\nX-Turn: (\d+)")
_NUMBER: Final = re.compile(rb'"n": (\d+)')
_BLOCK: Final = block(16 << 20)
_PIECE_BYTES: Final = 1 << 16
_TOKEN_SECONDS: Final = 0.001
_JSON_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: application/json\r\n"
    b"Server: bench\r\nx-request-id: req_%d\r\nopenai-processing-ms: 12\r\n"
    b"Content-Length: %d\r\n\r\n"
)
_EVENTS_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


class World:
    """How many model requests have come in, over all connections; and the agent's whole script."""

    def __init__(self) -> None:
        self.requests = 0
        self.turns = list(turns())


class Served(asyncio.Protocol):
    """One connection of the origin."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._buffer = b""
        self._left = 0
        self._taken = 0
        self._transport: asyncio.Transport
        self._writable = asyncio.Event()
        self._writable.set()
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=BUFFER_BYTES)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._left:
            data = self._swallow(data)
        self._buffer += data
        while (end := self._buffer.find(_HEAD_END)) >= 0 and not self._left:
            head = self._buffer[: end + 2]
            length = _LENGTH.search(head)
            whole = end + len(_HEAD_END) + (int(length[1]) if length else 0)
            if head.startswith(b"PUT "):
                self._upload(end + len(_HEAD_END), whole)
            elif len(self._buffer) < whole:
                return
            else:
                body, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
                self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        parts = urlsplit(target.decode("latin-1"))
        query = {name: int(values[0]) for name, values in parse_qs(parts.query).items()}
        if turn := _TURN.search(head):
            self._world.requests += 1
            self._start(self._say(self._world.turns[int(turn[1])]))
        elif method == b"POST":
            self._world.requests += 1
            number = _NUMBER.search(body)
            assert number is not None
            self._reply(reply_body(int(number[1])))
        elif parts.path == "/events":
            self._start(self._events(query["count"], query["every_ms"] / 1000))
        elif parts.path == "/download":
            self._start(self._download(query["bytes"]))
        else:
            self._reply(json.dumps({"requests": self._world.requests}).encode())

    def _reply(self, body: bytes) -> None:
        self._transport.write(_JSON_HEAD % (self._world.requests, len(body)) + body)

    def _upload(self, start: int, whole: int) -> None:
        """A body that is counted as it comes, and never held."""
        content, self._buffer = self._buffer[start:], b""
        self._left, self._taken = whole - start, 0
        self._buffer = self._swallow(content)

    def _swallow(self, data: bytes) -> bytes:
        taken = min(len(data), self._left)
        self._left -= taken
        self._taken += taken
        if not self._left:
            self._reply(b'{"received": %d}' % self._taken)
        return data[taken:]

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _events(self, count: int, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._transport.write(_EVENTS_HEAD)
        due = loop.time()
        for number in range(count):
            # The time last, so that as little as can be lies between reading and writing it.
            event = b'data: {"choices": [{"delta": {"content": "token %d"}}], "sent": %d}\n\n' % (
                number,
                monotonic_ns(),
            )
            self._transport.write(b"%x\r\n%s\r\n" % (len(event), event))
            due += seconds
            await asyncio.sleep(due - loop.time())
        self._transport.write(b"0\r\n\r\n")

    async def _say(self, turn: Turn) -> None:
        self._transport.write(turn.reply_head)
        for chunk, _ in turn.reply:
            self._transport.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await asyncio.sleep(_TOKEN_SECONDS)
        self._transport.write(b"0\r\n\r\n")

    async def _download(self, size: int) -> None:
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
            b"Content-Length: %d\r\n\r\n" % size
        )
        view, sent = memoryview(_BLOCK), 0
        while sent < size:
            start = sent % len(_BLOCK)
            piece = view[start : start + min(_PIECE_BYTES, size - sent)]
            self._transport.write(piece)
            sent += len(piece)
            await self._writable.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()


async def serve(folder: Path) -> None:
    """Serve HTTP and HTTPS on loopback until standard input closes."""
    keep_to_last_processor()
    authority = CertificateAuthority("rerail bench origin")
    authority.write(folder / "origin-ca.pem")
    context = authority.leaf("localhost", "127.0.0.1").server_context()
    loop, world = asyncio.get_running_loop(), World()
    make: Callable[[], Served] = lambda: Served(world)  # noqa: E731
    plain = await loop.create_server(make, "127.0.0.1", 0, backlog=512)
    secure = await loop.create_server(make, "127.0.0.1", 0, backlog=512, ssl=context)
    ports = {
        "http": plain.sockets[0].getsockname()[1],
        "https": secure.sockets[0].getsockname()[1],
    }
    print(json.dumps(ports), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
