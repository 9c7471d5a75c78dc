"""An exchange's bodies as a reader of meaning needs them: off the tape, content codings undone."""

from collections.abc import Callable, Iterator
from typing import Final

from rerail.errors import RerailError
from rerail.llm.turns import Bodies
from rerail.tape.exchange import Exchange
from rerail.tape.reader import Tape
from rerail.tape.records import Side, WsMessage
from rerail.wire.coding import decode_part
from rerail.wire.http1 import Head, parse_head

LOOKED_INTO: Final = 8 << 20
"""Bytes of a body that are read for what it means; no model call is larger."""


def read_bodies(
    tape: Tape, exchange: Exchange, *, damaged: Callable[[RerailError], object]
) -> Bodies:
    """Both bodies, as far as they came. One that cannot be read is None, and `damaged` is told."""
    asked = parse_head(exchange.request.head) if exchange.request else None
    replied = parse_head(exchange.reply.head) if exchange.reply else None

    def read(side: Side, head: Head | None) -> bytes | None:
        try:
            content = _content(tape, exchange, side)
        except RerailError as error:
            damaged(error)
            return None
        if content is None:
            return None
        return decode_part(content, _header(head, b"content-encoding")).content

    kind = _header(replied, b"content-type")
    return Bodies(
        read("agent", asked),
        read("origin", replied),
        kind,
        _sent(tape, exchange, damaged),
        dict(_messages(tape, exchange, damaged)),
    )


def _sent(tape: Tape, exchange: Exchange, damaged: Callable[[RerailError], object]) -> bytes | None:
    if exchange.edited is None:
        return None
    try:
        return beginning(tape.blob_stream(exchange.edited.content))
    except RerailError as error:
        damaged(error)
        return None


def _messages(
    tape: Tape, exchange: Exchange, damaged: Callable[[RerailError], object]
) -> Iterator[tuple[int, bytes]]:
    for event in exchange.websocket:
        if isinstance(event, WsMessage) and event.opcode == "text":
            try:
                yield event.seq, beginning(tape.blob_stream(event.content))
            except RerailError as error:
                damaged(error)


def _content(tape: Tape, exchange: Exchange, side: Side) -> bytes | None:
    if side == "agent":
        body = exchange.request_body
    else:
        body = exchange.reply_body.body if exchange.reply_body else None
    if body is not None:
        return beginning(tape.blob_stream(body.digest))
    half = exchange.unfinished
    return half.content()[:LOOKED_INTO] if half is not None and half.side == side else None


def beginning(pieces: Iterator[bytes]) -> bytes:
    """The first bytes of a content, as many as are looked into: of most all."""
    parts: list[bytes] = []
    room = LOOKED_INTO
    for piece in pieces:
        parts.append(piece[:room])
        room -= len(piece)
        if room < 0:
            break
    return b"".join(parts)


def _header(head: Head | None, name: bytes) -> str:
    return b", ".join(head.get_all(name) if head else ()).decode("latin-1")
