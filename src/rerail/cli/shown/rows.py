"""Exchanges in one line each: what was asked, how it came out, how much and how long."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rerail.cli.facts.events import ENDS, chunk_count, request_of
from rerail.cli.screen.texts import quantity
from rerail.cli.shown.outline import Outline
from rerail.tape.exchange import Exchange
from rerail.tape.records import WsClosed, WsMessage
from rerail.wire.http1 import parse_head, status_line

_NO_CLOSE_FRAME = 1006


@dataclass(frozen=True, slots=True)
class Row:
    """One exchange in one line.

    `step`, `last_step` and `attempt` are 0 for what is no model call; the last step is another than
    the first on a WebSocket with several turns. `lane` names a model call beside the main ones,
    which is no step. Sizes are bytes on the wire, content
    codings kept; times are nanoseconds, `start_ns` since the run began, `took_ns` from the request
    to the end (None where there is no end).
    """

    exchange: int
    event: int
    step: int
    last_step: int
    lane: str
    attempt: int
    api: str
    process: int
    method: str
    url: str
    outcome: str
    status: int
    complete: bool
    request_size: int
    reply_size: int
    chunks: int
    start_ns: int
    took_ns: int | None

    @property
    def failed(self) -> bool:
        """Whether something went wrong: no reply, an error's status, or a reply without its end."""
        return not 100 <= self.status < 400 or self.took_ns is None or not self.complete


def rows(outline: Outline, *, steps_only: bool = False) -> Iterator[Row]:
    """One row for each exchange, in the order of their requests."""
    for exchange in outline.exchanges:
        number = exchange.exchange_id
        if not steps_only or number in outline.steps or number in outline.calls.aside:
            yield row_of(outline, exchange)


def row_of(outline: Outline, exchange: Exchange) -> Row:
    """An exchange as a row."""
    event = exchange.request
    assert event is not None  # an outline holds no others
    request = request_of(event)
    attempt = outline.steps.get(exchange.exchange_id)
    reply_size, chunks = _received(exchange)
    ended_at = _ended_at(exchange)
    return Row(
        exchange=exchange.exchange_id,
        event=event.seq,
        step=attempt.step if attempt else 0,
        last_step=attempt.steps[-1] if attempt else 0,
        lane=outline.calls.aside.get(exchange.exchange_id, ""),
        attempt=attempt.attempt if attempt else 0,
        api=attempt.call.api if attempt else "",
        process=event.process_id,
        method=request.method,
        url=request.url,
        outcome=outcome(exchange, whole=exchange.exchange_id in outline.calls.whole),
        status=reply_status(exchange),
        complete=_is_complete(exchange) or exchange.exchange_id in outline.calls.whole,
        request_size=_sent_size(exchange),
        reply_size=reply_size,
        chunks=chunks,
        start_ns=event.at - outline.run.at,
        took_ns=None if ended_at is None else ended_at - event.at,
    )


def step_text(row: Row) -> str:
    """`s4`; of a WebSocket with several turns `s4-s7`; beside the main ones its lane's name."""
    last = f"-s{row.last_step}" if row.last_step > row.step else ""
    return f"s{row.step}{last}" if row.step else row.lane


def reply_status(exchange: Exchange) -> int:
    """The status of the final reply head; 0 where there is none."""
    return status_line(parse_head(exchange.reply.head)).status if exchange.reply else 0


def outcome(exchange: Exchange, *, whole: bool = False) -> str:
    """How an exchange came out, in a few words: `200`, `200, cut after 20 bytes`, `no reply: …`.

    `whole`: the agent went away, but not before the last event of its reply.
    """
    if exchange.failed is not None:
        reason = exchange.failed.reason or ENDS[exchange.failed.ended]
        return f"no reply: {reason}"
    status = str(reply_status(exchange)) if exchange.reply else ""
    if exchange.websocket:
        return f"{status}, {_conversation(exchange)}"
    if exchange.reply_body is not None:
        return f"{status}{'' if whole else _how_it_ended(exchange)}"
    if not status and exchange.unfinished is None:
        return "unfinished"
    half = exchange.unfinished
    so_far = f", unfinished after {quantity(half.size, 'byte')}" if half else ", unfinished"
    return f"{status}{so_far}".removeprefix(", ")


def _is_complete(exchange: Exchange) -> bool:
    if exchange.websocket:
        last = exchange.websocket[-1]
        return isinstance(last, WsClosed) and last.code != _NO_CLOSE_FRAME
    return exchange.reply_body is not None and exchange.reply_body.ended == "complete"


def _how_it_ended(exchange: Exchange) -> str:
    body = exchange.reply_body
    if body is None or body.ended == "complete":
        return ""
    size = body.body.size if body.body else 0
    return f", {ENDS[body.ended]} after {quantity(size, 'byte')}"


def _conversation(exchange: Exchange) -> str:
    messages = sum(isinstance(event, WsMessage) for event in exchange.websocket)
    last = exchange.websocket[-1]
    end = f"closed {last.code}" if isinstance(last, WsClosed) else "unfinished"
    return f"{quantity(messages, 'message')}, {end}"


def _sent_size(exchange: Exchange) -> int:
    if exchange.request_body is not None:
        return exchange.request_body.size
    half = exchange.unfinished
    return half.size if half and half.side == "agent" else 0


def _received(exchange: Exchange) -> tuple[int, int]:
    """The bytes and the chunks of the reply; for a WebSocket, of the origin's messages."""
    if exchange.websocket:
        sizes = [
            event.size
            for event in exchange.websocket
            if isinstance(event, WsMessage) and event.sender == "origin"
        ]
        return sum(sizes), len(sizes)
    if exchange.reply_body is not None:
        body = exchange.reply_body.body
        return (body.size, chunk_count(body.chunks)) if body else (0, 0)
    half = exchange.unfinished
    return (half.size, len(half.chunks)) if half and half.side == "origin" else (0, 0)


def _ended_at(exchange: Exchange) -> int | None:
    if exchange.websocket:
        last = exchange.websocket[-1]
        return last.at if isinstance(last, WsClosed) else None
    end = exchange.reply_body or exchange.failed
    return end.at if end else None


def row_values(row: Row) -> dict[str, Any]:
    """A row as JSON values."""
    values = {name: getattr(row, name) for name in Row.__slots__}
    for name in ("step", "last_step", "lane", "attempt", "api", "status"):
        values[name] = values[name] or None
    return values
