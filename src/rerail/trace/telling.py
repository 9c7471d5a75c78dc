"""The story that a tape tells: its model calls as one conversation, each message once.

A reading of the recorded bodies; a body that cannot be read is told of and passed by. What the
recorder could not capture is a gap.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rerail.errors import RerailError
from rerail.llm.bodies import read_bodies
from rerail.llm.numbered import model_calls
from rerail.llm.schemas import schemas
from rerail.llm.steps import Attempt, call_in, call_of
from rerail.llm.turns import Bodies, Turn, each_turn
from rerail.llm.view import Completion, Message
from rerail.tape.exchange import Exchange, joined
from rerail.tape.reader import Tape
from rerail.tape.records import (
    CaptureMissing,
    Event,
    HttpRequest,
    RunEnded,
    RunLost,
    RunStarted,
)
from rerail.trace.story import Gap, Said, Story
from rerail.wire.any_json import loaded
from rerail.wire.http1 import parse_head, status_line


def story_of(
    tape: Tape, source: str, *, damaged: Callable[[RerailError], object] = lambda error: None
) -> Story:
    """What was said on a tape; `source` names it in findings, `damaged` hears what is unreadable.

    Raises TapeAltered.
    """
    found, events = _traffic(tape)
    calls = model_calls(tape, found, damaged=damaged)
    offered: dict[str, Mapping[str, Any]] = {}

    def bodies(exchange: Exchange) -> Bodies:
        read = read_bodies(tape, exchange, damaged=damaged)
        if read.request is not None:
            _add_schemas(offered, read.request)
        return read

    by_id = {exchange.exchange_id: exchange for exchange in found}
    said = list(_told(each_turn(found, calls.steps, bodies), calls.steps, by_id, ""))
    for lane, beside in _lanes(found, calls.aside):
        said += _told(each_turn(found, beside, bodies), beside, by_id, lane)
    said.sort(key=lambda one: one.order)
    return Story(
        source, True, tuple(said), offered, _end(events), tuple(_gaps(events)), _ids(events)
    )


def _traffic(tape: Tape) -> tuple[list[Exchange], list[Event]]:
    """The exchanges with models, and the events that say how the run went; the rest passes by."""
    of_models: set[int] = set()
    traffic: list[Event] = []
    others: list[Event] = []
    for event in tape.events():
        if isinstance(event, HttpRequest) and call_in(parse_head(event.head), event.host):
            of_models.add(event.exchange_id)
        if getattr(event, "exchange_id", 0) in of_models:
            traffic.append(event)
        elif isinstance(event, RunStarted | RunEnded | RunLost | CaptureMissing):
            others.append(event)
    return joined(traffic, tape.unfinished()), others


def _add_schemas(offered: dict[str, Mapping[str, Any]], request: bytes) -> None:
    if b'"tools"' not in request:
        return
    document = loaded(request)
    if isinstance(document, dict):
        offered.update(schemas(document))


def _lanes(
    found: Sequence[Exchange], aside: Mapping[int, str]
) -> Iterator[tuple[str, dict[int, Attempt]]]:
    lanes: dict[str, dict[int, Attempt]] = defaultdict(dict)
    for exchange in found:
        lane, call = aside.get(exchange.exchange_id), call_of(exchange)
        if lane and call:
            lanes[lane][exchange.exchange_id] = Attempt(len(lanes[lane]) + 1, 1, call)
    yield from lanes.items()


def _told(
    found: Iterable[Turn], attempts: Mapping[int, Attempt], by_id: Mapping[int, Exchange], lane: str
) -> Iterator[Said]:
    for turn in found:
        exchange = by_id[turn.exchange_id]
        request = exchange.request
        if request is None:
            continue
        ref = f"r{turn.exchange_id}" if lane else f"s{turn.step}"
        wall = request.wall - request.at + turn.asked_at
        asked, answered = _events(exchange, attempts[turn.exchange_id], turn.step)
        for message in (*turn.new, *turn.put_in):
            yield Said(asked, ref, message, wall, lane=lane)
        said = turn.completion or Completion()
        yield Said(
            answered,
            ref,
            said.message or Message("assistant", ()),
            wall + (turn.took_ns or 0),
            said.model,
            said.finish_reason,
            said.usage,
            _error(said, exchange),
            lane,
        )


def _events(exchange: Exchange, attempt: Attempt, step: int) -> tuple[int, int]:
    """The events with which a turn was asked and answered: on a WebSocket, two of its messages."""
    assert exchange.request is not None
    asked = next((turn.event for turn in attempt.turns if turn.step == step), 0)
    if not asked:
        end = exchange.reply_body or exchange.failed or exchange.request
        return exchange.request.seq, end.seq
    after = (turn.event for turn in attempt.turns if turn.event > asked)
    until = min(after, default=exchange.websocket[-1].seq + 1)
    answers = [event.seq for event in exchange.websocket if asked < event.seq < until]
    return asked, answers[-1] if answers else asked


def _error(said: Completion, exchange: Exchange) -> str:
    if exchange.failed is not None:
        return f"no reply: {exchange.failed.reason or exchange.failed.ended}"
    if exchange.reply is None and exchange.reply_body is not None:
        return ""  # it was answered, and the record of the head is missing
    if exchange.reply is None:
        return "no reply" if not exchange.websocket else said.error
    status = status_line(parse_head(exchange.reply.head))
    if status.status >= 400:
        reason = said.error or status.reason.decode("latin-1")
        return f"{status.status} {reason}".strip()
    return said.error


def _end(events: Iterable[Event]) -> str:
    for event in events:
        if isinstance(event, RunEnded):
            return f"signal {event.signal}" if event.signal else f"status {event.status}"
        if isinstance(event, RunLost):
            return "lost"
    return ""


def _gaps(events: Iterable[Event]) -> Iterator[Gap]:
    for event in events:
        if isinstance(event, CaptureMissing):
            yield Gap(f"{event.what}: {event.detail}".rstrip(": "), "what passed there")


def _ids(events: Iterable[Event]) -> dict[str, str]:
    for event in events:
        if isinstance(event, RunStarted):
            return {"run": event.run_id, "task": event.task_id}
    return {}
