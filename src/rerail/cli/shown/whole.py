"""One exchange, or one event, printed whole: heads as they were, bodies readable. Opens no file."""

from collections.abc import Iterator
from typing import Any

from rerail.cli.facts.events import ENDS, event_values, words
from rerail.cli.facts.planes import change_lines, plane_body
from rerail.cli.screen.texts import block, duration, one_line, quantity, say, size_text, styled, utc
from rerail.cli.shown import bodies, evidence
from rerail.cli.shown.children import Child, contents, words_of
from rerail.cli.shown.evidence import Content
from rerail.cli.shown.outline import Outline
from rerail.cli.shown.overview import half_text
from rerail.cli.shown.rows import row_of, step_text
from rerail.errors import RerailError, TapeAltered
from rerail.tape.exchange import Exchange
from rerail.tape.plane_records import ProposalMade
from rerail.tape.reader import Tape, UnfinishedBody
from rerail.tape.records import (
    Event,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    McpMessage,
    TunnelClosed,
    WsClosed,
    WsMessage,
    WsOpened,
)

_TABLES = frozenset(("chunks", "frames"))
_SAID_ABOVE = frozenset(("event", "kind", "at_ns", "wall_ns", "component", "head", "argv"))


class Page:
    """Prints one exchange or event of a tape; what cannot be read goes into `damage`."""

    def __init__(self, tape: Tape, outline: Outline, damage: list[RerailError]) -> None:
        self._tape = tape
        self._outline = outline
        self._damage = damage

    # An exchange.

    def exchange(self, exchange: Exchange) -> None:
        """Print an exchange whole."""
        row = row_of(self._outline, exchange)
        step = f"  {step_text(row)}" if step_text(row) else ""
        _title(f"r{row.exchange}{step}  {row.method} {row.url}")
        took = "" if row.took_ns is None else f", took {duration(row.took_ns)}"
        say(one_line(f"{row.outcome}; began at +{duration(row.start_ns)}{took}"))
        self._call(exchange)
        self._request(exchange)
        for head in exchange.interim:
            _heading(f"interim reply  e{head.seq}", _after(exchange, head))
            _head(head.head)
        self._reply(exchange)
        if exchange.websocket:
            self._websocket(exchange)
        if exchange.failed is not None:
            _heading(f"no reply  e{exchange.failed.seq}", words(exchange.failed))

    def _call(self, exchange: Exchange) -> None:
        attempt = self._outline.steps.get(exchange.exchange_id)
        if attempt is None:
            return
        tries = [f"r{item.exchange_id}" for item in self._outline.of_step(attempt.step)]
        which = f", attempt {attempt.attempt} of {len(tries)} ({', '.join(tries)})"
        call = f"model call: {attempt.call.api} ({attempt.call.provider})"
        say(call + (which if len(tries) > 1 else ""))

    def _request(self, exchange: Exchange) -> None:
        event = exchange.request
        assert event is not None  # an outline holds no others
        body = evidence.of_request(self._tape, exchange)
        at = f"+{duration(event.at - self._outline.run.at)}, {utc(event.wall)}"
        _heading(f"request  e{event.seq}", f"{at}{_size(body)}")
        _head(event.head)
        self._content(body, f"r{exchange.exchange_id} --raw --request")
        if exchange.request_body is not None:
            _trailers(exchange.request_body.trailers)
        else:
            _half(exchange.unfinished, "agent")

    def _reply(self, exchange: Exchange) -> None:
        reply, end = exchange.reply, exchange.reply_body
        body = evidence.of_reply(self._tape, exchange)
        if reply is not None:
            _heading(f"reply  e{reply.seq}", f"{_after(exchange, reply)}{_size(body)}")
            _head(reply.head)
        self._content(body, f"r{exchange.exchange_id} --raw")
        if end is None:
            _half(exchange.unfinished, "origin")
            return
        _trailers(end.body.trailers if end.body else b"")
        if end.ended != "complete":
            say(f"({ENDS[end.ended]}: the reply is not complete)")

    def _websocket(self, exchange: Exchange) -> None:
        asked_at = exchange.request.at if exchange.request else 0
        first, last = exchange.websocket[0].seq, exchange.websocket[-1].seq
        _heading(f"conversation  e{first} to e{last}", "")
        for event in exchange.websocket:
            when = f"+{duration(event.at - asked_at)}"
            said = self._message(event) if isinstance(event, WsMessage) else _aside(event)
            say(f"{when:>10}  {said}")

    def _message(self, event: WsMessage) -> str:
        partly = " (unfinished)" if event.unfinished else ""
        try:
            said = bodies.in_one_line(evidence.of_message(self._tape, event))
        except TapeAltered as error:
            said = self._damaged(error)
        size = size_text(event.size)
        return f"{event.sender:<6} {event.opcode:<6} {size:>8}  {said}{partly}"

    # A child process.

    def child(self, child: Child) -> None:
        """Print a child whole."""
        started = child.started
        _title(f"p{child.number}  {words_of(started)}")
        took = "" if child.took_ns is None else f", took {duration(child.took_ns)}"
        at = f"+{duration(started.at - self._outline.run.at)}, {utc(started.wall)}"
        say(one_line(f"{child.outcome}; began at {at}{took}"))
        say(one_line(f"in {started.cwd}, by p{started.parent_process_id}"))
        for name, kind in started.streams.items():
            if name not in child.streams and not (child.messages and kind == "pipe"):
                say(one_line(f"{name}: {kind}"))
        for output, found in contents(self._tape, child):
            ended = "" if output.ended == "complete" else f", {ENDS[output.ended]}"
            _heading(f"{output.stream}  e{output.seq}", f"{_size(found)[2:]}{ended}")
            self._content(found, f"e{output.seq} --raw")
        if child.messages:
            self._messages(child)

    def _messages(self, child: Child) -> None:
        first, last = child.messages[0].seq, child.messages[-1].seq
        _heading(f"messages  e{first} to e{last}", "")
        for message in child.messages:
            when = f"+{duration(message.at - child.started.at)}"
            sender = "agent" if message.sender == "agent" else "server"
            say(f"{when:>10}  {sender:<6} {self._line(message)}")

    def _line(self, message: McpMessage) -> str:
        try:
            said = bodies.in_one_line(evidence.of_message(self._tape, message))
        except TapeAltered as error:
            said = self._damaged(error)
        return f"{size_text(message.size):>8}  {said}"

    # An event.

    def event(self, event: Event) -> None:
        """Print an event whole, with the evidence it points to."""
        values = event_values(event)
        _title(f"e{event.seq}  {values['kind']}")
        at = f"+{duration(event.at - self._outline.run.at)}, {utc(event.wall)}"
        say(one_line(f"{at}, by the {event.component}"))
        say(one_line(words(event)))
        for name, value in _flat(values):
            if name not in _SAID_ABOVE:
                say(one_line(f"{name}: {value}"))
        if isinstance(event, HttpRequest | HttpReplyHead):
            say()
            _head(event.head)
        exchange = self._outline.exchange(getattr(event, "exchange_id", 0))
        if isinstance(event, TunnelClosed):
            self._evidence(event, exchange, "sent", sent=True)
            self._evidence(event, exchange, "received")
        else:
            if isinstance(event, ProposalMade):
                self._changes(event)
            else:
                self._evidence(event, exchange, "content")
            if plane_body(event, errors=True) is not None:
                self._evidence(event, exchange, "standard error", sent=True)
        if isinstance(event, HttpReplyBody) and event.body is not None:
            _trailers(event.body.trailers)

    def _evidence(
        self, event: Event, exchange: Exchange | None, title: str, *, sent: bool = False
    ) -> None:
        found = evidence.of_event(self._tape, event, exchange, sent=sent)
        if found is not None:
            _heading(title, _size(found).removeprefix(", "))
            self._content(found, f"e{event.seq} --raw{' --request' if sent else ''}")

    def _changes(self, event: ProposalMade) -> None:
        """A proposal path by path, as `git status` would have it."""
        found = evidence.of_event(self._tape, event, None)
        assert found is not None
        _heading("changes", size_text(found.size))
        try:
            for line in change_lines(b"".join(found.stream())):
                say(one_line(line))
        except (TapeAltered, ValueError) as error:
            say(self._damaged(error if isinstance(error, TapeAltered) else TapeAltered(str(error))))

    # Parts.

    def _content(self, found: Content | None, see_all: str) -> None:
        if found is not None and found.size:
            say()
            for line in self._readable(found, see_all):
                say(line)

    def _readable(self, found: Content, see_all: str) -> Iterator[str]:
        try:
            yield from bodies.lines(found, see_all=f"rerail show {self._tape.path} {see_all}")
        except TapeAltered as error:
            yield self._damaged(error)

    def _damaged(self, error: RerailError) -> str:
        self._damage.append(error)
        return f"(cannot be shown: {one_line(error.what)})"


def _title(text: str) -> None:
    say(styled(one_line(text), bold=True))


def _heading(title: str, more: str) -> None:
    say()
    say(styled(f"── {title}", bold=True) + (f"  {one_line(more)}" if more else ""))


def _head(head: bytes) -> None:
    """A head, or a trailer section, as it was."""
    for line in block(head.decode("utf-8", "surrogateescape")).rstrip("\n").split("\n"):
        say(line)


def _trailers(trailers: bytes) -> None:
    if trailers:
        _heading("trailers", "")
        _head(trailers)


def _half(half: UnfinishedBody | None, side: str) -> None:
    if half is not None and half.side == side:
        say(f"({half_text(half)})")


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Fields in lines: those of a part under its name, those that say nothing left out."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif value not in (None, "", []) and name not in _TABLES:
            yield f"{prefix}{name}", value


def _aside(event: WsOpened | WsClosed) -> str:
    return one_line(words(event).partition(" ")[2])


def _after(exchange: Exchange, event: Event) -> str:
    asked_at = exchange.request.at if exchange.request else event.at
    return f"after {duration(event.at - asked_at)}"


def _size(found: Content | None) -> str:
    if found is None:
        return ""
    return f", {size_text(found.size)} in {quantity(len(found.chunks), 'chunk')}"
