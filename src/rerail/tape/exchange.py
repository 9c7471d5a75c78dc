"""A request and everything that answers it, joined by `exchange_id`. Knows nothing of meaning."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rerail.tape.reader import Tape, UnfinishedBody
from rerail.tape.records import (
    Body,
    Event,
    HttpFailed,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
    HttpRequestEdited,
    WsClosed,
    WsMessage,
    WsOpened,
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One exchange as far as it is on the tape.

    `request` is None only on a damaged tape. `reply` is the final head, `interim` the 1xx heads
    before it. `request_body` is the request's body whichever event holds it; `edited` is set where
    the origin was sent another one. `unfinished` is what
    had come of a body whose end was not recorded: the reply's, if the request was complete.
    """

    exchange_id: int
    process_id: int
    request: HttpRequest | None
    request_body: Body | None
    interim: tuple[HttpReplyHead, ...]
    reply: HttpReplyHead | None
    reply_body: HttpReplyBody | None
    failed: HttpFailed | None
    websocket: tuple[WsOpened | WsMessage | WsClosed, ...]
    unfinished: UnfinishedBody | None
    edited: HttpRequestEdited | None = None


def exchanges(tape: Tape) -> list[Exchange]:
    """All exchanges, in the order of their requests. Raises TapeAltered."""
    return joined(tape.events(), tape.unfinished())


def joined(events: Iterable[Event], unfinished: Iterable[UnfinishedBody] = ()) -> list[Exchange]:
    """The exchanges that these events tell of: of a damaged tape, those that can be read."""
    found: dict[int, _Gathered] = {}
    for event in events:
        exchange_id = getattr(event, "exchange_id", 0)
        if exchange_id:
            found.setdefault(exchange_id, _Gathered(exchange_id)).take(event)
    for body in unfinished:
        if body.exchange_id in found:
            found[body.exchange_id].unfinished = body
    return [gathered.exchange() for gathered in found.values()]


@dataclass(slots=True)
class _Gathered:
    exchange_id: int
    request: HttpRequest | None = None
    request_body: Body | None = None
    heads: list[HttpReplyHead] = field(default_factory=list)
    reply_body: HttpReplyBody | None = None
    failed: HttpFailed | None = None
    websocket: list[WsOpened | WsMessage | WsClosed] = field(default_factory=list)
    unfinished: UnfinishedBody | None = None
    edited: HttpRequestEdited | None = None

    def take(self, event: Event) -> None:
        match event:
            case HttpRequest():
                self.request = event
                self.request_body = event.body
            case HttpRequestBody():
                self.request_body = event.body
            case HttpRequestEdited():
                self.edited = event
            case HttpReplyHead():
                self.heads.append(event)
            case HttpReplyBody():
                self.reply_body = event
            case HttpFailed():
                self.failed = event
            case WsOpened() | WsMessage() | WsClosed():
                self.websocket.append(event)

    def exchange(self) -> Exchange:
        final = [head for head in self.heads if not is_interim(head.head)]
        return Exchange(
            exchange_id=self.exchange_id,
            process_id=self.request.process_id if self.request else 0,
            request=self.request,
            request_body=self.request_body,
            interim=tuple(head for head in self.heads if is_interim(head.head)),
            reply=final[-1] if final else None,
            reply_body=self.reply_body,
            failed=self.failed,
            websocket=tuple(self.websocket),
            unfinished=self.unfinished,
            edited=self.edited,
        )


def is_interim(head: bytes) -> bool:
    """Whether a reply head is an interim one: 1xx other than 101 (RFC 9110 section 15.2)."""
    status = head.split(b" ", 2)[1:2]
    return bool(status) and status[0].startswith(b"1") and status[0] != b"101"
