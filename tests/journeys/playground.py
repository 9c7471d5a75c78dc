"""An origin for any client: every framing and coding, and each reply drawn anew at random."""

import random
import secrets
from collections.abc import Callable

from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Behaviour
from rerail.testing.replies import (
    Reply,
    bodiless,
    chunked,
    content,
    document,
    encoded,
    head,
    interim,
    redirect,
    routes,
    until_close,
)
from rerail.testing.websocket import websocket_echo

CHANCE = random.SystemRandom()
LARGE = 300_000


def anew(make: Callable[[], Reply]) -> Reply:
    """A reply that is made for each request."""

    def reply(connection: Connection, request: Request) -> None:
        make()(connection, request)

    return reply


def _page() -> Reply:
    more = [("X-Request-Id", secrets.token_hex(8))]
    return document({"page": secrets.token_hex(CHANCE.randint(10, 200))}, more=more)


def _stream() -> Reply:
    pieces = [_event(secrets.token_hex(CHANCE.randint(1, 300))) for _ in range(12)]
    return chunked(pieces, pause=0.002, kind="text/event-stream")


def _event(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


def _upload(connection: Connection, request: Request) -> None:
    if request.header("expect"):
        connection.send(head(100))
    for _ in request.blocks():
        pass
    value = {"size": request.body_size, "digest": request.body_sha256, "id": secrets.token_hex(8)}
    document(value)(connection, request)


def _coded(coding: str) -> Reply:
    return anew(lambda: encoded(secrets.token_hex(3000).encode(), coding))


def playground() -> Behaviour:
    """The origin's behaviour."""
    return routes(
        {
            "/page": anew(_page),
            "/stream": anew(_stream),
            "/large": anew(lambda: content(secrets.token_bytes(LARGE))),
            "/gzip": _coded("gzip"),
            "/deflate": _coded("deflate"),
            "/br": _coded("br"),
            "/zstd": _coded("zstd"),
            "/upload": _upload,
            "/old": anew(lambda: until_close([secrets.token_bytes(900)], version="HTTP/1.0")),
            "/moved": redirect("/page"),
            "/empty": bodiless(204),
            "/unchanged": bodiless(304),
            "/hinted": interim(103, anew(_page), more=[("Link", "</a.css>; rel=preload")]),
            "/talk": anew(
                lambda: websocket_echo(
                    greeting=[secrets.token_hex(40), secrets.token_bytes(70)], ping=b"are you there"
                )
            ),
            "/goodbye": anew(
                lambda: websocket_echo(close_after=1, close_code=4001, close_reason="enough")
            ),
        }
    )
