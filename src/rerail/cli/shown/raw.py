"""The exact bytes of a body, streamed to standard output. Adds nothing, changes nothing."""

import codecs
from collections.abc import Iterable, Iterator
from typing import Final

import click

from rerail.cli.screen.texts import for_person, is_safe
from rerail.cli.shown import evidence
from rerail.cli.shown.children import Child, stream_of
from rerail.cli.shown.rows import outcome
from rerail.errors import NotOnTape, UsageProblem
from rerail.tape.exchange import Exchange
from rerail.tape.reader import Tape
from rerail.tape.records import (
    Event,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
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

_POINTS_TO_BYTES: Final = (
    HttpRequest,
    HttpRequestBody,
    HttpReplyBody,
    WsMessage,
    TunnelClosed,
    ProbeLog,
    ProcessOutput,
    McpMessage,
    ScriptStarted,
    ScriptPaused,
    ScriptAnswered,
    ScriptPrinted,
    ScriptEnded,
)


def exchange_bytes(tape: Tape, exchange: Exchange, *, of_request: bool) -> Iterator[bytes]:
    """The reply's body as it crossed the wire, or the request's; of a half reply what there is.

    Raises NotOnTape where there was no reply, UsageProblem for a WebSocket: it has messages.
    """
    name = f"r{exchange.exchange_id}"
    if of_request:
        found = evidence.of_request(tape, exchange)
    else:
        if exchange.websocket:
            raise UsageProblem(
                f"{name} is a WebSocket conversation and has no body",
                hint="name one of its messages: `rerail show TAPE --events` lists them",
            )
        if exchange.reply is None:
            raise NotOnTape(
                f"{name} has no reply: {outcome(exchange)}",
                hint=f"`rerail show TAPE {name}` shows what happened",
            )
        found = evidence.of_reply(tape, exchange)
    return found.stream() if found else iter(())


def child_bytes(tape: Tape, child: Child, *, of_request: bool) -> Iterator[bytes]:
    """What a child wrote to standard output, or was told. Raises NotOnTape."""
    return stream_of(tape, child, "stdin" if of_request else "stdout")


def event_bytes(tape: Tape, event: Event, *, of_request: bool) -> Iterator[bytes]:
    """The body or payload that an event points to; a reply's head; else the event as it is stored.

    Of an opaque connection it is what was received, or (`of_request`) what was sent.
    """
    if isinstance(event, HttpReplyHead):
        return iter((event.head,))
    if isinstance(event, _POINTS_TO_BYTES):
        found = evidence.of_event(tape, event, None, sent=of_request)
        return found.stream() if found else iter(())
    return iter((tape.event_bytes(event.seq),))


def write(pieces: Iterable[bytes]) -> None:
    """Write bytes to standard output; to a terminal only text that cannot steer it."""
    for piece in _checked(pieces) if for_person() else pieces:
        click.echo(piece, nl=False)


def _checked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
    for piece in pieces:
        if not is_safe(decoder.decode(piece)):
            raise UsageProblem(
                "these bytes are not plain text, and standard output is a terminal",
                hint="send them to a file (`> reply.bin`) or through `| less` or `| xxd`",
            )
        yield piece
