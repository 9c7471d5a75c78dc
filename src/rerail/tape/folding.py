"""Half bodies into events: what a recorder would have written had it not died. Pure.

Which event a body belongs to is read from the events before it: the request's, the reply's, or that
of a connection which was not HTTP.
"""

from contextlib import suppress
from hashlib import sha256
from typing import Final

from rerail.tape.chunks import ChunkTable
from rerail.tape.damage import Damaged
from rerail.tape.evidence import PartRow, joined_chunks
from rerail.tape.records import (
    Body,
    CaptureMissing,
    Event,
    Framing,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
    TunnelClosed,
    TunnelOpened,
)

_CUT: Final = "the recorder ended while a body was arriving"


class HalfBody:
    """A body of which only the beginning came, built up from the parts that can be read."""

    def __init__(self, parts: list[PartRow]) -> None:
        self.exchange_id = parts[0].exchange_id
        self.side = parts[0].side
        self.size = 0
        self._parts = parts
        self._hash = sha256()

    @property
    def name(self) -> str:
        """What to call it."""
        whose = f"exchange {self.exchange_id}" if self.exchange_id else "a tunnel"
        return f"a body of {whose}, from the {self.side},"

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self._hash.update(piece)

    def digest(self) -> bytes:
        return self._hash.digest()

    def body(self, framing: Framing) -> Body:
        """What an event says of it."""
        return Body(digest=self.digest(), size=self.size, framing=framing, chunks=self._chunks())

    def _chunks(self) -> bytes:
        """The chunks of what could be read; none if their table is damaged."""
        table, left = ChunkTable(), self.size
        with suppress(Damaged):
            for chunk in joined_chunks(self._parts):
                table.add(min(chunk.size, left), chunk.at_ns)
                left -= min(chunk.size, left)
        return b"" if left else table.encoded()


class Circumstances:
    """What the events so far say of exchanges and tunnels that may have a half body."""

    def __init__(self) -> None:
        self._requests: set[int] = set()
        self._heads: dict[int, bytes] = {}
        self._tunnels: set[int] = set()

    def take(self, event: Event) -> None:
        match event:
            case HttpRequest():
                self._requests.add(event.exchange_id)
            case HttpReplyHead():
                self._heads[event.exchange_id] = event.head
            case TunnelOpened():
                self._tunnels.add(event.connection_id)
            case TunnelClosed():
                self._tunnels.discard(event.connection_id)

    def event_of(self, half: HalfBody, *, at: int, wall: int) -> Event:
        """The event that tells of a half body; where none fits, one that says it is there."""
        exchange_id, of_agent = half.exchange_id, half.side == "agent"
        if exchange_id in self._requests:
            framing = "close" if of_agent else framing_of(self._heads.get(exchange_id, b""))
            kind = HttpRequestBody if of_agent else HttpReplyBody
            return kind(
                at=at,
                wall=wall,
                component=half.side,
                exchange_id=exchange_id,
                body=half.body(framing),
                ended="cut",
            )
        if not exchange_id and len(self._tunnels) == 1:
            [connection_id] = self._tunnels
            return TunnelClosed(
                at=at,
                wall=wall,
                connection_id=connection_id,
                sent=half.body("close") if of_agent else None,
                received=None if of_agent else half.body("close"),
                ended="cut",
            )
        detail = f"{half.name} {half.size} bytes, kept as content {half.digest().hex()}"
        return CaptureMissing(at=at, wall=wall, what=_CUT, detail=detail)


def framing_of(head: bytes) -> Framing:
    """How a reply's body was framed, by its head (RFC 9112 section 6.3)."""
    fields = head.lower().split(b"\r\n")[1:]
    if any(line.startswith(b"transfer-encoding:") and b"chunked" in line for line in fields):
        return "chunked"
    if any(line.startswith(b"content-length:") for line in fields):
        return "length"
    return "close"
