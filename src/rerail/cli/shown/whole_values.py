"""One exchange, or one event, as JSON values: what `whole` prints, for machines.

What of the evidence cannot be read is said in its place and noted in `damage`: one damaged body
must not hide the rest.
"""

import base64
from typing import Any

import msgspec

from rerail.cli.facts.events import event_values
from rerail.cli.shown import bodies, evidence
from rerail.cli.shown.children import Child, child_events, child_values, contents
from rerail.cli.shown.evidence import Content
from rerail.cli.shown.outline import Outline
from rerail.cli.shown.rows import row_of, row_values
from rerail.errors import RerailError, TapeAltered
from rerail.tape.exchange import Exchange
from rerail.tape.reader import Tape
from rerail.tape.records import Event, TunnelClosed, UnknownEvent, WsMessage


def exchange_values(
    tape: Tape, outline: Outline, exchange: Exchange, damage: list[RerailError]
) -> dict[str, Any]:
    """An exchange: its row, its events with their heads, its contents, its WebSocket messages."""
    values = row_values(row_of(outline, exchange))
    values["request"] = _event(exchange.request)
    values["request_content"] = _content(evidence.of_request(tape, exchange), damage)
    values["interim"] = [event_values(head) for head in exchange.interim]
    values["reply"] = _event(exchange.reply)
    values["reply_end"] = _event(exchange.reply_body)
    values["reply_content"] = _content(evidence.of_reply(tape, exchange), damage)
    values["failed"] = _event(exchange.failed)
    values["websocket"] = [
        event_values(event) | _message(tape, event, damage) for event in exchange.websocket
    ]
    return values


def whole_child_values(tape: Tape, child: Child, damage: list[RerailError]) -> dict[str, Any]:
    """A child process: its row, its events, what passed through its streams."""
    values = child_values(child)
    values["events"] = child_events(child)
    values["contents"] = {
        output.stream: _content(found, damage) for output, found in contents(tape, child)
    }
    values["said"] = [
        {"sender": message.sender}
        | {"evidence": _content(evidence.of_message(tape, message), damage)}
        for message in child.messages
    ]
    return values


def whole_event_values(
    tape: Tape, outline: Outline, event: Event, damage: list[RerailError]
) -> dict[str, Any]:
    """An event with the evidence it points to; one of an unknown kind as it is stored."""
    values = event_values(event)
    if isinstance(event, UnknownEvent):
        return values | {"stored": _stored(tape.event_bytes(event.seq))}
    exchange = outline.exchange(getattr(event, "exchange_id", 0))
    if isinstance(event, TunnelClosed):
        sent = evidence.of_event(tape, event, exchange, sent=True)
        received = evidence.of_event(tape, event, exchange)
        values["sent_content"] = _content(sent, damage)
        values["received_content"] = _content(received, damage)
        return values
    found = _content(evidence.of_event(tape, event, exchange), damage)
    return values if found is None else values | {"evidence": found}


def _event(event: Event | None) -> dict[str, Any] | None:
    return event_values(event) if event else None


def _content(found: Content | None, damage: list[RerailError]) -> dict[str, Any] | None:
    if found is None:
        return None
    try:
        return bodies.content_values(found)
    except TapeAltered as error:
        damage.append(error)
        return {"size": found.size, "damage": error.what}


def _message(tape: Tape, event: Event, damage: list[RerailError]) -> dict[str, Any]:
    if not isinstance(event, WsMessage):
        return {}
    return {"evidence": _content(evidence.of_message(tape, event), damage)}


def _stored(data: bytes) -> Any:
    """MessagePack as JSON values, bytes in base64; all of it in base64 where JSON has no form."""
    try:
        return msgspec.to_builtins(msgspec.msgpack.decode(data), str_keys=True)
    except (TypeError, ValueError, RecursionError):
        return {"base64": base64.b64encode(data).decode("ascii")}
