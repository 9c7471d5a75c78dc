"""Where the bytes of an exchange or an event are on the tape, and what its head says of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from rerail.cli.facts.events import chunks_of
from rerail.cli.facts.planes import plane_body
from rerail.errors import NotOnTape, TapeAltered
from rerail.llm.bodies import beginning
from rerail.tape.chunks import Chunk
from rerail.tape.exchange import Exchange
from rerail.tape.plane_records import ProposalMade
from rerail.tape.reader import Tape, UnfinishedBody
from rerail.tape.records import (
    Body,
    Event,
    HttpReplyBody,
    HttpRequest,
    HttpRequestBody,
    HttpRequestEdited,
    McpMessage,
    ProbeLog,
    ProcessOutput,
    TunnelClosed,
    WsMessage,
)
from rerail.tape.script_records import (
    ScriptAnswered,
    ScriptEnded,
    ScriptPaused,
    ScriptPrinted,
    ScriptStarted,
)
from rerail.wire.http1 import Head, parse_head


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes on a tape. `stream` reads all of them, piece by piece.

    `asked_at` is when the request was complete, in nanoseconds since the run began, for a stream's
    times to be told from. `digest` is empty for a body whose end was not recorded.
    """

    size: int
    chunks: tuple[Chunk, ...]
    stream: Callable[[], Iterator[bytes]]
    media_type: str = ""
    coding: str = ""
    digest: bytes = b""
    asked_at: int = 0

    @property
    def is_stream(self) -> bool:
        """Whether these are server-sent events."""
        return self.media_type.lower().startswith("text/event-stream")

    def beginning(self) -> bytes:
        """The first bytes, as many as are looked into: of most bodies all, the digest checked."""
        return beginning(self.stream())


def of_request(tape: Tape, exchange: Exchange) -> Content | None:
    """What the agent sent; None where the request has no body, or none of it is on the tape."""
    head = parse_head(exchange.request.head) if exchange.request else None
    if exchange.request_body is not None:
        return _of_body(tape, exchange.request_body, head)
    half = exchange.unfinished
    return _of_half(half, head) if half and half.side == "agent" else None


def of_reply(tape: Tape, exchange: Exchange) -> Content | None:
    """What the origin sent, as far as it is on the tape; None where that is nothing."""
    head = parse_head(exchange.reply.head) if exchange.reply else None
    asked_at = exchange.request.at if exchange.request else 0
    if exchange.reply_body is not None:
        body = exchange.reply_body.body
        return _of_body(tape, body, head, asked_at=asked_at) if body else None
    half = exchange.unfinished
    return _of_half(half, head, asked_at=asked_at) if half and half.side == "origin" else None


def of_message(tape: Tape, message: WsMessage | McpMessage) -> Content:
    """The payload of a WebSocket message or control frame, or a line of JSON-RPC."""
    digest = message.content
    return Content(message.size, (), lambda: _named(tape, digest), digest=digest)


def of_event(
    tape: Tape, event: Event, exchange: Exchange | None, *, sent: bool = False
) -> Content | None:
    """The evidence that one event points to.

    `sent` chooses of two: of an opaque connection what the agent sent, of a command of the verdict
    plane its standard error.
    """
    match event:
        case HttpRequest() | HttpRequestBody():
            head = parse_head(exchange.request.head) if exchange and exchange.request else None
            return _of_body(tape, event.body, head) if event.body else None
        case HttpReplyBody():
            head = parse_head(exchange.reply.head) if exchange and exchange.reply else None
            asked_at = exchange.request.at if exchange and exchange.request else 0
            return _of_body(tape, event.body, head, asked_at=asked_at) if event.body else None
        case HttpRequestEdited():
            head = parse_head(exchange.request.head) if exchange and exchange.request else None
            media_type = _header(head, b"content-type")
            stream = partial(_named, tape, event.content)
            return Content(event.size, (), stream, media_type, digest=event.content)
        case WsMessage() | McpMessage():
            return of_message(tape, event)
        case ProcessOutput():
            return _of_body(tape, event.body, None) if event.body else None
        case ProbeLog(content=digest):
            return Content(event.size, (), lambda: _named(tape, digest), digest=digest)
        case ProposalMade(proposal_ref=digest):
            return Content(event.size, (), lambda: _named(tape, digest), digest=digest)
        case ScriptStarted():
            return _of_body(tape, event.code, None)
        case ScriptPaused():
            return _json(tape, event.arguments)
        case ScriptAnswered():
            return _json(tape, event.answer)
        case ScriptPrinted():
            return _of_body(tape, event.text, None)
        case ScriptEnded():
            return _json(tape, event.output) if event.output else None
        case TunnelClosed():
            body = event.sent if sent else event.received
            return _of_body(tape, body, None) if body else None
    body = plane_body(event, errors=sent)
    return _of_body(tape, body, None) if body else None


def _of_body(tape: Tape, body: Body, head: Head | None, *, asked_at: int = 0) -> Content:
    return Content(
        body.size,
        chunks_of(body.chunks),
        lambda: _named(tape, body.digest),
        _header(head, b"content-type"),
        _header(head, b"content-encoding"),
        body.digest,
        asked_at,
    )


def _json(tape: Tape, body: Body) -> Content:
    return replace(_of_body(tape, body, None), media_type="application/json")


def _named(tape: Tape, digest: bytes) -> Iterator[bytes]:
    """A content that an event names: that it is not there is damage, and no wrong question."""
    try:
        yield from tape.blob_stream(digest)
    except NotOnTape as error:
        raise TapeAltered(error.what, hint=error.hint) from error


def _of_half(half: UnfinishedBody, head: Head | None, *, asked_at: int = 0) -> Content:
    return Content(
        half.size,
        half.chunks,
        lambda: iter((half.content(),)),
        _header(head, b"content-type"),
        _header(head, b"content-encoding"),
        asked_at=asked_at,
    )


def _header(head: Head | None, name: bytes) -> str:
    return b", ".join(head.get_all(name) if head else ()).decode("latin-1")
