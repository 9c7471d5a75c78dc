"""A tape on one page: the run, what went wrong, and one line for each exchange. Opens no file."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from rerail.cli.facts import (
    ENDS,
    chunk_count,
    ending_text,
    event_values,
    failure_text,
    kind_of,
    request_of,
    tunnel_text,
    words,
)
from rerail.cli.outline import Outline
from rerail.cli.texts import (
    duration,
    for_person,
    grouped,
    one_line,
    quantity,
    say,
    seconds,
    size_text,
    styled,
    table,
    utc,
)
from rerail.tape.exchange import Exchange
from rerail.tape.reader import UnfinishedBody
from rerail.tape.records import Event, RunStarted, WsClosed, WsMessage
from rerail.wire.http1 import parse_head, status_line

_HEADERS = ("", "step", "start", "method", "url", "outcome", "sent", "got", "chunks", "took")
_NO_ID = {True: "(not yet)", False: "(cannot be known: some events cannot be read)"}
_NO_CLOSE_FRAME = 1006
_NUMBERS = (2, 6, 7, 8, 9)
_YIELDING = (4, 5)


@dataclass(frozen=True, slots=True)
class Row:
    """One exchange in one line.

    `step` and `attempt` are 0 for what is no model call. Sizes are bytes on the wire, content
    codings kept; times are nanoseconds, `start_ns` since the run began, `took_ns` from the request
    to the end (None where there is no end).
    """

    exchange: int
    event: int
    step: int
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
        if not steps_only or exchange.exchange_id in outline.steps:
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
        attempt=attempt.attempt if attempt else 0,
        api=attempt.call.api if attempt else "",
        process=event.process_id,
        method=request.method,
        url=request.url,
        outcome=outcome(exchange),
        status=reply_status(exchange),
        complete=_is_complete(exchange),
        request_size=_sent_size(exchange),
        reply_size=reply_size,
        chunks=chunks,
        start_ns=event.at - outline.run.at,
        took_ns=None if ended_at is None else ended_at - event.at,
    )


def reply_status(exchange: Exchange) -> int:
    """The status of the final reply head; 0 where there is none."""
    return status_line(parse_head(exchange.reply.head)).status if exchange.reply else 0


def outcome(exchange: Exchange) -> str:
    """How an exchange came out, in a few words: `200`, `200, cut after 20 bytes`, `no reply: …`."""
    if exchange.failed is not None:
        reason = exchange.failed.reason or ENDS[exchange.failed.ended]
        return f"no reply: {reason}"
    status = str(reply_status(exchange)) if exchange.reply else ""
    if exchange.websocket:
        return f"{status}, {_conversation(exchange)}"
    if exchange.reply_body is not None:
        return f"{status}{_how_it_ended(exchange)}"
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


def half_reply(exchange: Exchange) -> UnfinishedBody | None:
    """What had come of a reply whose end was not recorded."""
    half = exchange.unfinished
    return half if half and half.side == "origin" and exchange.reply_body is None else None


def state_text(outline: Outline) -> str:
    """The tape's state in words that cannot be misread."""
    match outline.state:
        case "finished":
            return "finished"
        case "live":
            return "live: it is being recorded now"
        case "lost":
            return (
                "lost: its recorder died (run.lost); everything committed by then is here, "
                "truncation is not excluded"
            )
    return "unknown: the events that would tell cannot be read"


def half_text(half: UnfinishedBody) -> str:
    """What is there of a body whose end was not recorded."""
    what = "reply" if half.side == "origin" else "request"
    place = f"the half {what} of r{half.exchange_id} is there up to its last committed chunk"
    return f"{place} ({quantity(half.size, 'byte')})"


def print_overview(path: str, outline: Outline, *, steps_only: bool) -> None:
    """The page for a person, or with tabs for a pipe."""
    for name, text in _summary(path, outline):
        label = f"{name:<11}" if for_person() else f"{name}\t"
        say(f"{styled(label, bold=True)}{one_line(text)}")
    found = list(rows(outline, steps_only=steps_only))
    if found:
        say()
        table(
            [_cells(row) for row in found],
            headers=_HEADERS,
            right=_NUMBERS,
            yielding=_YIELDING,
            failed=[row.failed for row in found],
        )


def _summary(path: str, outline: Outline) -> Iterator[tuple[str, str]]:
    run = outline.run
    yield "tape", path
    yield "id", outline.tape_id or _NO_ID[outline.state == "live"]
    yield "state", state_text(outline)
    yield "run", run.run_id
    yield "task", run.task_id
    if run.parent:
        step = f", step {run.parent.step}" if run.parent.step else ""
        yield "parent", f"{run.parent.relation} of {run.parent.tape_id}{step}"
    yield "command", shlex.join(run.argv)
    yield "folder", run.cwd
    yield "started", utc(run.wall)
    yield "duration", _span(outline.last_at - run.at)
    yield from _ending(outline)
    for name, how in run.capture.items():
        yield "capture", f"{name}: {how}"
    yield from _troubles(outline)
    yield "holds", _counts(outline)


def _ending(outline: Outline) -> Iterator[tuple[str, str]]:
    if outline.ended is not None:
        yield "exit", words(outline.ended)
        return
    _, command = outline.processes.get(1, (None, None))
    if command is not None:
        yield "exit", ending_text(command.status, command.signal)
    if outline.lost is not None:
        yield "lost", outline.lost.reason


def _troubles(outline: Outline) -> Iterator[tuple[str, str]]:
    """What a reader must know before reading on: gaps, failures, half bodies."""
    for missing in outline.missing:
        yield "missing", words(missing)
    for failure in outline.failures:
        yield "failed", failure_text(failure)
    for opened, closed in outline.tunnels:
        end = tunnel_text(closed) if closed else "unfinished"
        yield "opaque", f"{opened.host}:{opened.port}, {opened.why}; {end}"
    for half in outline.unfinished:
        yield "unfinished", half_text(half)


def _counts(outline: Outline) -> str:
    steps = len({attempt.step for attempt in outline.steps.values()})
    return ", ".join(
        (
            quantity(outline.events, "event"),
            quantity(len(outline.exchanges), "exchange"),
            quantity(steps, "step"),
        )
    )


def _span(nanoseconds: int) -> str:
    return duration(nanoseconds) if for_person() else seconds(nanoseconds)


def _size(size: int) -> str:
    return size_text(size) if for_person() else str(size)


def _cells(row: Row) -> tuple[str, ...]:
    step = f"s{row.step}" + (f" try {row.attempt}" if row.attempt > 1 else "") if row.step else ""
    return (
        f"r{row.exchange}",
        step,
        f"+{_span(row.start_ns)}",
        row.method,
        row.url,
        row.outcome,
        _size(row.request_size),
        _size(row.reply_size),
        grouped(row.chunks) if for_person() else str(row.chunks),
        "" if row.took_ns is None else _span(row.took_ns),
    )


def print_event(run: RunStarted, event: Event) -> None:
    """One event in one line."""
    cells = (f"e{event.seq}", f"+{_span(event.at - run.at)}", kind_of(event), words(event))
    number, when, kind, text = (one_line(cell) for cell in cells)
    if for_person():
        say(f"{number:>6} {when:>10}  {kind:<18} {text}")
    else:
        say("\t".join((number, when, kind, text)))


def overview_values(path: str, outline: Outline, *, steps_only: bool) -> dict[str, Any]:
    """The page as JSON values."""
    run, ended = outline.run, outline.ended
    return {
        "tape": path,
        "id": outline.tape_id or None,
        "state": outline.state or "unknown",
        "run_id": run.run_id,
        "task_id": run.task_id,
        "parent": msgspec.structs.asdict(run.parent) if run.parent else None,
        "writer": run.writer,
        "command": run.argv,
        "cwd": run.cwd,
        "environment": run.environment,
        "capture": run.capture,
        "facts": run.facts,
        "started": utc(run.wall),
        "started_wall_ns": run.wall,
        "duration_ns": outline.last_at - run.at,
        "status": ended.status if ended else None,
        "signal": ended.signal if ended else None,
        "reason": ended.reason if ended else outline.lost.reason if outline.lost else None,
        "events": outline.events,
        "damage": [error.what for error in outline.damage],
        "missing": [event_values(event) for event in outline.missing],
        "connection_failures": [event_values(event) for event in outline.failures],
        "tunnels": [
            {"opened": event_values(opened), "closed": event_values(closed) if closed else None}
            for opened, closed in outline.tunnels
        ],
        "unfinished": [
            {"exchange": half.exchange_id, "side": half.side, "size": half.size}
            for half in outline.unfinished
        ],
        "exchanges": [row_values(row) for row in rows(outline, steps_only=steps_only)],
    }


def row_values(row: Row) -> dict[str, Any]:
    """A row as JSON values."""
    values = {name: getattr(row, name) for name in Row.__slots__}
    for name in ("step", "attempt", "api", "status"):
        values[name] = values[name] or None
    return values
