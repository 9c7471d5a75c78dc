"""Ready-made HTTP replies of a test origin: every framing and every failure a recorder must keep.

A reply is a function of the connection and the request; `serve` turns one into a script. It must
not repair anything: heads are written as given, in order, with their case.
"""

import base64
import gzip
import hashlib
import importlib
import itertools
import json
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Final, Literal

import zstandard

from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Behaviour

Reply = Callable[[Connection, Request], None]
Header = tuple[str, str]
Coding = Literal["gzip", "deflate", "br", "zstd", "identity"]

PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
BLOCK: Final = hashlib.sha256(b"rerail").digest() * 2048
"""64 KiB of bytes that do not repeat within a line, for bodies of any size."""


def serve(reply: Reply) -> Behaviour:
    """A script that answers every request of a connection, keep-alive and pipelining included."""

    def run(connection: Connection) -> None:
        while (request := connection.read_request()) is not None:
            reply(connection, request)
            if connection.closed or request.wants_close:
                return
            request.read()

    return run


def routes(table: Mapping[str, Reply], otherwise: Reply | None = None) -> Behaviour:
    """Serve by path (`/stream`) or method and path (`POST /stream`); 404 for all others."""
    missing = otherwise or text("no such page\n", status=404)

    def pick(connection: Connection, request: Request) -> None:
        reply = table.get(f"{request.method} {request.path}") or table.get(request.path, missing)
        reply(connection, request)

    return serve(pick)


def in_turn(*replies: Reply) -> Reply:
    """The n-th request gets the n-th reply, the last one repeats; counted over all connections."""
    numbers = itertools.count()

    def reply(connection: Connection, request: Request) -> None:
        replies[min(next(numbers), len(replies) - 1)](connection, request)

    return reply


def head(status: int, headers: Iterable[Header] = (), *, version: str = "HTTP/1.1") -> bytes:
    """The bytes of a reply's head; a status the registry lacks, such as 529, has no phrase."""
    lines = [f"{version} {status} {PHRASES.get(status, '')}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


# -- whole replies --------------------------------------------------------------------------------


def content(
    body: bytes,
    *,
    status: int = 200,
    kind: str = "application/octet-stream",
    more: Sequence[Header] = (),
) -> Reply:
    """A body with its Content-Length; a HEAD request gets the head alone."""
    start = head(status, [("Content-Type", kind), ("Content-Length", str(len(body))), *more])

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.send(start if request.method == "HEAD" else start + body)

    return reply


def text(body: str, *, status: int = 200, more: Sequence[Header] = ()) -> Reply:
    """Plain text."""
    return content(body.encode(), status=status, kind="text/plain; charset=utf-8", more=more)


def document(value: object, *, status: int = 200, more: Sequence[Header] = ()) -> Reply:
    """JSON."""
    return content(json.dumps(value).encode(), status=status, kind="application/json", more=more)


def bodiless(status: Literal[204, 304], *, length: int | None = None) -> Reply:
    """204 or 304, which end with their head; a 304 may name the length of what it does not send."""
    more = [] if length is None else [("Content-Length", str(length))]

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.send(head(status, [("ETag", '"v1"'), *more]))

    return reply


def redirect(location: str, *, status: int = 302) -> Reply:
    """A redirection."""
    return text("over there\n", status=status, more=[("Location", location)])


def encoded(body: bytes, coding: Coding | str) -> Reply:
    """The body in a content coding; a coding nobody knows is announced and sent as it is."""
    more = [("Content-Encoding", coding), ("Vary", "Accept-Encoding")]
    return content(encode(body, coding), kind="application/json", more=more)


def encode(body: bytes, coding: str) -> bytes:
    """Apply a content coding (RFC 9110, 8.4.1); `br` needs the `brotli` package."""
    match coding:
        case "gzip":
            return gzip.compress(body, mtime=0)
        case "deflate":
            return zlib.compress(body)
        case "zstd":
            return zstandard.compress(body)
        case "br":
            return bytes(importlib.import_module("brotli").compress(body))
        case _:
            return body


def echo(connection: Connection, request: Request) -> None:
    """What was asked, as JSON: method, target, headers in order, body and its digest."""
    body = request.read()
    value = {
        "method": request.method,
        "target": request.target,
        "headers": request.headers,
        "body": base64.b64encode(body).decode(),
        "size": request.body_size,
        "sha256": request.body_sha256,
        "trailers": request.trailers,
    }
    document(value)(connection, request)


# -- streams --------------------------------------------------------------------------------------


def chunked(
    chunks: Iterable[bytes],
    *,
    pause: float = 0.0,
    kind: str = "application/octet-stream",
    more: Sequence[Header] = (),
    trailers: Sequence[Header] = (),
) -> Reply:
    """A chunked body, each chunk in one write, `pause` seconds between them."""
    pieces = list(chunks)
    names = [("Trailer", ", ".join(name for name, _ in trailers))] if trailers else []
    start = head(200, [("Content-Type", kind), ("Transfer-Encoding", "chunked"), *names, *more])

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.send(start)
        if request.method == "HEAD":
            return
        for number, piece in enumerate(pieces):
            if number and pause:
                connection.pause(pause)
            connection.send(chunk(piece))
        fields = "".join(f"{name}: {value}\r\n" for name, value in trailers)
        connection.send(f"0\r\n{fields}\r\n".encode("latin-1"))

    return reply


def chunk(piece: bytes) -> bytes:
    """One chunk on the wire (RFC 9112, 7.1)."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def event_stream(count: int, *, pause: float = 0.0, more: Sequence[Header] = ()) -> Reply:
    """`count` server-sent events, each its own chunk, `pause` seconds between them."""
    events = [f'id: {number}\ndata: {{"n": {number}}}\n\n'.encode() for number in range(count)]
    return chunked(
        events, pause=pause, kind="text/event-stream", more=[("Cache-Control", "no-cache"), *more]
    )


def gated(pieces: Sequence[bytes], gates: Sequence[threading.Event]) -> Reply:
    """Chunks that the test lets out: piece n waits for gate n (the pieces after the last, none)."""

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.send(head(200, [("Transfer-Encoding", "chunked")]))
        for piece, gate in itertools.zip_longest(pieces, gates):
            if gate is not None:
                connection.wait_for(gate)
            if piece is not None:
                connection.send(chunk(piece))
        connection.send(b"0\r\n\r\n")

    return reply


def open_stream(first: bytes) -> Reply:
    """One event, and then a stream that stays open until somebody closes it."""

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        kind = ("Content-Type", "text/event-stream")
        connection.send(head(200, [kind, ("Transfer-Encoding", "chunked")]) + chunk(first))
        connection.hold()
        connection.close()

    return reply


def until_close(pieces: Iterable[bytes], *, version: str = "HTTP/1.1") -> Reply:
    """A body that ends with the connection; with `version="HTTP/1.0"` as an old server sends it."""
    parts = list(pieces)

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.send(head(200, [("Connection", "close")], version=version))
        for part in parts:
            connection.send(part)
        connection.close()

    return reply


def huge(size: int, *, in_chunks: bool = False) -> Reply:
    """`size` bytes that are never held at once; `huge_sha256(size)` is their digest."""
    framing = ("Transfer-Encoding", "chunked") if in_chunks else ("Content-Length", str(size))

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.send(head(200, [("Content-Type", "application/octet-stream"), framing]))
        for block in _blocks(size):
            connection.send(chunk(block) if in_chunks else block)
        if in_chunks:
            connection.send(b"0\r\n\r\n")

    return reply


def huge_sha256(size: int) -> str:
    """Hex digest of the body that `huge(size)` sends."""
    digest = hashlib.sha256()
    for block in _blocks(size):
        digest.update(block)
    return digest.hexdigest()


def _blocks(size: int) -> Iterable[bytes]:
    whole, rest = divmod(size, len(BLOCK))
    yield from itertools.repeat(BLOCK, whole)
    if rest:
        yield BLOCK[:rest]


def sink(connection: Connection, request: Request) -> None:
    """Read an upload of any size without holding it; the reply is its size and digest."""
    for _ in request.blocks():
        pass
    document({"size": request.body_size, "sha256": request.body_sha256})(connection, request)


# -- before the reply -----------------------------------------------------------------------------


def interim(status: int, then: Reply, *, more: Sequence[Header] = (), pause: float = 0.0) -> Reply:
    """A 1xx reply, a pause, and then the reply proper (RFC 9110, 15.2)."""

    def reply(connection: Connection, request: Request) -> None:
        connection.send(head(status, more))
        connection.pause(pause)
        then(connection, request)

    return reply


def unexpecting(status: int = 413) -> Reply:
    """Refuse a request by its head alone, without the 100 that its `Expect` asks for."""

    def reply(connection: Connection, request: Request) -> None:
        close = [("Content-Length", "0"), ("Connection", "close")]
        connection.send(head(status, close))
        connection.close()

    return reply


def after(seconds: float, then: Reply) -> Reply:
    """A slow first byte."""

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.pause(seconds)
        then(connection, request)

    return reply


def when(event: threading.Event, then: Reply) -> Reply:
    """A reply that waits for the test."""

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.wait_for(event)
        then(connection, request)

    return reply


# -- failures -------------------------------------------------------------------------------------

Ending = Literal["close", "cut", "reset"]


def broken(sent: bytes, how: Ending, *, pause: float = 0.0) -> Reply:
    """Send exactly these bytes (none, half a head, half a body …), pause, end the connection.

    A reset may overtake what was sent before it; a pause of 50 ms lets the bytes arrive first.
    """

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        if sent:
            connection.send(sent)
        connection.pause(pause)
        end(connection, how)

    return reply


def end(connection: Connection, how: Ending) -> None:
    """End a connection in one of the three ways."""
    match how:
        case "close":
            connection.close()
        case "cut":
            connection.cut()
        case "reset":
            connection.reset()


def short_body(
    *, promised: int = 100, sent: int = 20, how: Ending = "close", pause: float = 0.0
) -> Reply:
    """A body that ends before its Content-Length."""
    start = head(200, [("Content-Type", "text/plain"), ("Content-Length", str(promised))])
    return broken(start + b"x" * sent, how, pause=pause)


def short_chunks(pieces: Sequence[bytes], how: Ending = "close", *, pause: float = 0.0) -> Reply:
    """A chunked body that ends without its last chunk."""
    start = head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
    return broken(start + b"".join(map(chunk, pieces)), how, pause=pause)


def wire(sent: bytes) -> Reply:
    """Exactly these bytes, and the connection stays open for the next request."""

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        connection.send(sent)

    return reply
