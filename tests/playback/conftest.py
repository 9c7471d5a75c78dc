"""Tapes made event by event, and the requests of a replay."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rerail.compare.canon import Request
from rerail.redact.apply import Redactor
from rerail.tape.reader import Tape
from rerail.tape.records import (
    Body,
    BodyEnd,
    ConnectionFailed,
    Event,
    Framing,
    HttpFailed,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
    RunEnded,
    RunStarted,
    WsClosed,
    WsMessage,
    WsOpened,
)
from rerail.tape.writer import TapeWriter

CHAT = "/v1/chat/completions"
HOST = "api.openai.com"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
MS = 1_000_000


class TapeMaker:
    """Writes a tape, one exchange after the other, a millisecond between events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer = TapeWriter.create(path)
        self.redactor = Redactor.create(key=bytes(32))
        self.at = 0
        self.exchanges = 0
        self.add(RunStarted, run_id="run-1", task_id="task-1", writer="test", argv=["agent"],
                 cwd="/somewhere")  # fmt: skip

    def add(self, kind: type[Event], **fields: Any) -> int:
        """Append an event."""
        self.at += MS
        return self.writer.append(self.redactor.record(kind(at=self.at, wall=self.at, **fields)))

    def request(
        self,
        body: object = b"",
        *,
        method: str = "POST",
        target: str = CHAT,
        host: str = HOST,
        headers: str = "Content-Type: application/json\r\n",
        process_id: int = 1,
        unfinished: bool = False,
    ) -> int:
        """A request with its whole body; its exchange's number."""
        self.exchanges += 1
        head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode()
        stored = None if unfinished else self.body("agent", [encoded(body)])
        self.add(HttpRequest, exchange_id=self.exchanges, connection_id=1, scheme="https",
                 host=host, port=443, head=head, body=stored, unfinished=unfinished,
                 process_id=process_id)  # fmt: skip
        return self.exchanges

    def request_body(self, exchange: int, body: object, ended: BodyEnd = "complete") -> None:
        """The body of a request whose reply began first."""
        self.add(HttpRequestBody, exchange_id=exchange, ended=ended,
                 body=self.body("agent", [encoded(body)], exchange))  # fmt: skip

    def body(
        self,
        side: str,
        chunks: Iterable[bytes],
        exchange: int | None = None,
        *,
        framing: Framing = "length",
        chunk_lines: bytes = b"",
        trailers: bytes = b"",
    ) -> Body | None:
        """A body in chunks, a millisecond apart."""
        number = exchange or self.exchanges
        writer = self.writer.body(exchange_id=number, side=side, exact=True)  # type: ignore[arg-type]
        for chunk in chunks:
            self.at += MS
            writer.write(self.redactor.body(chunk), at=self.at)
        return writer.finish(framing=framing, chunk_lines=chunk_lines, trailers=trailers)

    def reply(
        self,
        chunks: Iterable[bytes] = (b"{}",),
        *,
        head: bytes = OK,
        interim: Iterable[bytes] = (),
        exchange: int | None = None,
        ended: BodyEnd = "complete",
        **body: Any,
    ) -> None:
        """The whole reply to the last request, or to that of `exchange`."""
        number = exchange or self.exchanges
        for raw in (*interim, head):
            self.add(HttpReplyHead, exchange_id=number, head=raw)
        stored = self.body("origin", chunks, number, **body)
        self.add(HttpReplyBody, exchange_id=number, body=stored, ended=ended)

    def call(self, body: object, *, status: int = 200, **request: Any) -> int:
        """A request and its reply of two bytes."""
        number = self.request(body, **request)
        self.reply(head=OK.replace(b"200 OK", b"%d X" % status))
        return number

    def failed(self, ended: BodyEnd = "reset") -> None:
        """The last request was never answered."""
        self.add(HttpFailed, exchange_id=self.exchanges, ended=ended)

    def unreachable(self, host: str = HOST) -> None:
        """A connection that could not be made."""
        self.add(ConnectionFailed, connection_id=9, host=host, port=443, phase="connect",
                 reason="refused", shown="502")  # fmt: skip

    def websocket(self, *said: tuple[str, str, object], target: str = "/v1/responses") -> int:
        """A conversation: (sender, opcode or `close`, payload or close code)."""
        number = self.request(
            method="GET",
            target=target,
            headers="Upgrade: websocket\r\nSec-WebSocket-Key: AAAA\r\n",
        )
        self.add(HttpReplyHead, exchange_id=number, head=SWITCHING)
        self.add(WsOpened, exchange_id=number)
        for sender, opcode, payload in said:
            if opcode == "close":
                self.add(WsClosed, exchange_id=number, sender=sender, code=payload)
                continue
            content = encoded(payload)
            digest = self.writer.blob(self.redactor.body(content))
            self.add(WsMessage, exchange_id=number, sender=sender, opcode=opcode, content=digest,
                     size=len(content))  # fmt: skip
        return number

    def finish(self, *, status: int = 0, signal: int = 0) -> Tape:
        """End the run and open the tape."""
        self.add(RunEnded, status=status, signal=signal)
        return self.leave()

    def leave(self) -> Tape:
        """Open the tape as it is, without an end."""
        self.writer.close()
        return Tape.open(self.path)


SWITCHING = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
    b"sec-websocket-accept: recorded=\r\nX-Other: kept\r\n\r\n"
)


def encoded(body: object) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def asked(
    body: object = b"",
    *,
    method: str = "POST",
    target: str = CHAT,
    host: str = HOST,
    headers: Iterable[tuple[str, str]] = (("Content-Type", "application/json"),),
    process_id: int = 1,
) -> Request:
    """A request of a replay."""
    content = encoded(body)
    return Request(
        method, "https", host, 443, target, tuple(headers), content,
        hashlib.sha256(content).digest(), len(content), process_id,
    )  # fmt: skip


@pytest.fixture
def tape_maker(tmp_path: Path) -> Iterator[Callable[[], TapeMaker]]:
    """`tape_maker()` begins a tape; what it finishes is closed after the test."""
    with ExitStack() as stack:

        def begin() -> TapeMaker:
            maker = TapeMaker(tmp_path / f"{len(list(tmp_path.iterdir()))}.tape")
            leave = maker.leave
            maker.leave = lambda: stack.enter_context(leave())  # type: ignore[method-assign]
            return maker

        yield begin


@pytest.fixture(scope="session")
def ask() -> Callable[..., Request]:
    """`ask(body, …)` makes a request of a replay."""
    return asked
