"""What to send for one recorded request: the exact bytes, cut and timed as the origin sent them.

Bodies are read from the tape while they are sent, so a large one is never held. Knows no socket and
no clock: times are those of the recording, and whoever sends decides how long to wait.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from msgspec import Struct

from rerail.redact.reference import to_wire
from rerail.tape.chunks import Chunk, decode_chunks
from rerail.tape.exchange import Exchange
from rerail.tape.records import BodyEnd, Framing
from rerail.wire.http1 import Head, content_length, parse_head, status_line
from rerail.wire.websocket import accept_key


class Piece(Struct, frozen=True):
    """Bytes to send as one write; `at` is when they came in the recording (ns since it began)."""

    at: int
    data: bytes


class Content(Struct, frozen=True):
    """A reply's body: its size, where to read it, and in which chunks it came."""

    size: int
    read: Callable[[], Iterator[bytes]]
    chunks: Callable[[], tuple[Chunk, ...]] = tuple
    chunk_lines: bytes = b""
    trailers: bytes = b""


class Plan(Struct, frozen=True):
    """The reply to one request.

    `interim` are the 1xx heads, `head` the final one: None where the origin gave none (`ended` then
    says how the connection ended). After the last byte the connection is treated as `ended` says:
    `complete` goes on, `cut` is closed, `reset` is reset, `timeout` is left silent, `agent_closed`
    waits for the agent to go away, as it did. `requested_at` is when the request was complete;
    `closes` says that the origin closed the connection after a complete reply.
    """

    exchange_id: int
    interim: tuple[Piece, ...]
    head: Piece | None
    framing: Framing
    content: Content | None
    ended: BodyEnd
    requested_at: int
    ended_at: int
    is_websocket: bool = False
    closes: bool = False

    def pieces(self, *, interim_sent: int = 0) -> Iterator[Piece]:
        """Everything to write, in order; the first `interim_sent` interim heads are left out."""
        yield from self.interim[interim_sent:]
        if self.head is not None:
            yield self.head
            if self.framing == "chunked":
                yield from self._chunked()
            elif self.framing != "none" and self.content is not None:
                yield from (Piece(cut.at, cut.data) for cut in self._cuts(self.content))

    def writes(self, interim_sent: int = 0) -> Iterator[Piece]:
        """The pieces as they are written, each read when it is asked for; a small reply is one.

        A body of known length has no boundaries that a client sees: its pieces are joined.
        """
        if self._is_small():
            return map(self._whole, (interim_sent,))
        pieces = self.pieces(interim_sent=interim_sent)
        return _joined(pieces) if self.framing == "length" else pieces

    def _is_small(self) -> bool:
        """Whether the reply came whole, with a length told before, and is one write."""
        known = self.head is not None and self.framing == "length" and self.ended == "complete"
        return known and self.content is not None and self.content.size <= JOINED_SIZE

    def _whole(self, interim_sent: int) -> Piece:
        """A small reply: every head that is due, and the body."""
        assert self.head is not None and self.content is not None
        heads = [head.data for head in self.interim[interim_sent:]]
        return Piece(self.ended_at, b"".join([*heads, self.head.data, *self.content.read()]))

    def switching_head(self, sec_websocket_key: bytes) -> bytes:
        """The 101 head with the accept value for this agent's key, everything else as recorded."""
        assert self.head is not None
        accept = accept_key(sec_websocket_key)
        return _ACCEPT.sub(lambda match: match[1] + accept, self.head.data, count=1)

    @property
    def status(self) -> int:
        """The reply's status; 0 where there was none."""
        return status_line(parse_head(self.head.data)).status if self.head else 0

    def _cuts(self, content: Content) -> Iterator["_Cut"]:
        return _cut(content.read(), content.chunks(), self.ended_at)

    def _chunked(self) -> Iterator[Piece]:
        """RFC 9112 section 7.1: each chunk under the size line that the sender gave it."""
        content = self.content or Content(0, lambda: iter(()))
        lines = iter(_LINE.findall(content.chunk_lines))
        last: _Cut | None = None
        line, broken = b"", False
        for cut in self._cuts(content):
            if last is not None:
                yield Piece(last.at, last.data + (_ENDING if last.ends else b""))
            if cut.begins:
                line = next(lines, b"%x\r\n" % cut.size)
                broken = _size_in(line) > cut.size
            data = line + cut.data if cut.begins else cut.data
            last = _Cut(cut.at, data, cut.size, cut.begins, cut.ends and not broken)
        if last is not None:
            yield Piece(last.at, last.data + (_ENDING if last.ends else b""))
        if self.ended == "complete":
            end = next(lines, b"0\r\n") + to_wire(content.trailers) + _ENDING
            yield Piece(self.ended_at, end)


JOINED_SIZE: Final = 1 << 16
"""Bytes up to which a head and a body of known length are sent as one write."""

_ENDING: Final = b"\r\n"
_LINE: Final = re.compile(rb"[^\n]*\n")
_ACCEPT: Final = re.compile(rb"(?im)^(sec-websocket-accept:[ \t]*)[^\r\n]*")


class _Cut(Struct, frozen=True):
    """A part of a chunk: at most what one read from the tape gave."""

    at: int
    data: bytes
    size: int
    begins: bool
    ends: bool


def _size_in(line: bytes) -> int:
    """The size that a chunk-size line announces; 0 where it is no number."""
    try:
        return int(line.partition(b";")[0], 16)
    except ValueError:
        return 0


def _cut(pieces: Iterable[bytes], chunks: tuple[Chunk, ...], end_at: int) -> Iterator[_Cut]:
    """The content cut where the sender cut it; what the table does not cover is one more chunk."""
    table = iter(chunks)
    chunk = next(table, None)
    left = chunk.size if chunk else 0
    for piece in pieces:
        start = 0
        while start < len(piece):
            if chunk is None:
                rest = piece[start:]
                yield _Cut(end_at, rest, len(rest), begins=True, ends=True)
                break
            data = piece[start : start + left]
            begins = left == chunk.size
            start += len(data)
            left -= len(data)
            yield _Cut(chunk.at_ns, data, chunk.size, begins, left == 0)
            if not left:
                chunk = next(table, None)
                left = chunk.size if chunk else 0


def make_plan(
    exchange: Exchange, read: Callable[[bytes], Iterator[bytes]], *, lost_at: int = 0
) -> Plan:
    """The plan for an exchange. `read` gives a blob's bytes by digest, piece by piece.

    `lost_at` is the time of the tape's last event: where an unfinished reply is cut off.
    """
    request = exchange.request
    assert request is not None
    reply = exchange.reply
    end = exchange.reply_body or exchange.failed
    return Plan(
        exchange_id=exchange.exchange_id,
        interim=tuple([Piece(item.at, to_wire(item.head)) for item in exchange.interim]),
        head=None if reply is None else Piece(reply.at, to_wire(reply.head)),
        framing="none" if reply is None else _framing(request.head, reply.head),
        content=_content(exchange, read),
        ended=_ended(exchange),
        requested_at=request.at,
        ended_at=end.at if end else lost_at,
        is_websocket=bool(exchange.websocket),
        closes=reply is not None and (_is_last(request.head) or _is_last(reply.head)),
    )


def _is_last(raw: bytes) -> bool:
    """Whether a head, of either side, ends its connection (RFC 9112 section 9.3)."""
    old = b"HTTP/1.0" in raw
    if not old and b"connection" not in raw.lower():
        return False
    head = parse_head(raw)
    if head.has_token(b"connection", b"close"):
        return True
    old = head.start.startswith(b"HTTP/1.0 ") or head.start.endswith(b" HTTP/1.0")
    return old and not head.has_token(b"connection", b"keep-alive")


def _ended(exchange: Exchange) -> BodyEnd:
    """How it ended; what has no end on the tape was cut off when the recorder died."""
    if exchange.reply_body is not None:
        return exchange.reply_body.ended
    if exchange.failed is not None:
        return exchange.failed.ended
    return "complete" if exchange.websocket else "cut"


_FRAMED: Final = re.compile(
    rb"\n(?i:content-length:[ \t]*([0-9]{1,18})[ \t]*\r?(?=\n(?![ \t]))"
    rb"|content-length|transfer-encoding)"
)
"""What a head says about its framing: the length, or nothing where it takes more to read it."""


def _framing(asked: bytes, replied: bytes) -> Framing:
    """How the body stood on the wire: said by the head, also where it was cut (RFC 9112, 6.3)."""
    start = replied.partition(b"\n")[0].rstrip(b"\r")
    status = status_line(Head(replied, start, ())).status
    if asked.startswith(b"HEAD ") or status in (204, 304) or 100 <= status < 200:
        return "none"
    said = _FRAMED.findall(replied)
    if len(said) == 1 and said[0]:
        return "length"
    head = parse_head(replied)
    if head.has_token(b"transfer-encoding", b"chunked"):
        return "chunked"
    length = content_length(head)
    return "close" if length is None or length < 0 else "length"


def _content(exchange: Exchange, read: Callable[[bytes], Iterator[bytes]]) -> Content | None:
    unfinished = exchange.unfinished
    if exchange.reply_body is None and unfinished is not None and unfinished.side == "origin":
        half = unfinished
        return Content(half.size, lambda: iter((half.content(),)), lambda: half.chunks)
    body = exchange.reply_body.body if exchange.reply_body else None
    if body is None:
        return None
    chunks = partial(_chunks, body.chunks)
    return Content(body.size, partial(read, body.digest), chunks, body.chunk_lines, body.trailers)


def _chunks(table: bytes) -> tuple[Chunk, ...]:
    """The table, if it can be read: a torn one costs the boundaries, never the bytes."""
    try:
        return tuple(decode_chunks(table))
    except ValueError:
        return ()


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    joined: list[bytes] = []
    size = 0
    at = 0
    for piece in pieces:
        joined.append(piece.data)
        size += len(piece.data)
        at = piece.at
        if size >= JOINED_SIZE:
            yield Piece(at, b"".join(joined))
            joined, size = [], 0
    if joined:
        yield Piece(at, b"".join(joined))
