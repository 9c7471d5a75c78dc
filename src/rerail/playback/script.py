"""The tape as a player needs it: requests to match, plans to send, model calls. Knows no socket.

Heads are read once, bodies when they are wanted.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from msgspec.structs import replace

from rerail.compare.body import READ_LIMIT
from rerail.compare.canon import NO_BODY, Request
from rerail.compare.recorded import Recorded
from rerail.compare.side_calls import SideCall, side_call
from rerail.errors import NotOnTape, TapeAltered
from rerail.llm.calls import ModelCall, model_call
from rerail.llm.numbered import model_calls
from rerail.llm.steps import Attempt
from rerail.playback.likeness import said_in
from rerail.playback.plan import Plan, make_plan
from rerail.tape.exchange import Exchange, joined
from rerail.tape.reader import Tape
from rerail.tape.records import ConnectionFailed, HttpRequestBody
from rerail.wire.http1 import parse_head

_NEVER: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """One recorded exchange, with what its request is.

    `call` says what a request to a model's API asks, `step` is set where the model generated: a
    WebSocket may have none, or many. `lane` names a model call beside the main ones, which is no
    step. `side` is set for a side call. `early`: the origin answered and the request was never
    completed, so the reply belongs to the head alone.
    """

    exchange: Exchange
    recorded: Recorded
    step: Attempt | None
    side: SideCall | None
    early: bool = False
    call: ModelCall | None = None
    lane: str = ""

    @property
    def event(self) -> int:
        """The number of its request event."""
        return self.recorded.started


class Script:
    """Everything on a tape that a replay may need."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        events = list(tape.events())
        self.last_at = max((event.at for event in events), default=0)
        self.failures = [event for event in events if isinstance(event, ConnectionFailed)]
        cut_short = {
            event.exchange_id
            for event in events
            if isinstance(event, HttpRequestBody) and event.ended != "complete"
        }
        found = [item for item in joined(events, tape.unfinished()) if item.request is not None]
        self.calls = model_calls(tape, found)
        attempts = self.calls.steps.values()
        self.turns = {turn.event: turn.step for attempt in attempts for turn in attempt.turns}
        self.exchanges = {
            item.exchange_id: self._read(item, item.exchange_id in cut_short) for item in found
        }

    @property
    def recorded(self) -> Sequence[Recorded]:
        """The requests for a matcher, in recorded order."""
        return [item.recorded for item in self.exchanges.values()]

    @property
    def call_count(self) -> int:
        """How many model calls the recording has; attempts of one are one."""
        return self.calls.count

    def plan(self, exchange_id: int) -> Plan:
        """What to send for a recorded request."""
        item = self.exchanges[exchange_id]
        plan = make_plan(item.exchange, self.tape.blob_stream, lost_at=self.last_at)
        # The agent went away after the last event; if it does not, it is owed the end.
        return replace(plan, ended="complete") if exchange_id in self.calls.whole else plan

    def model_hosts(self) -> set[tuple[str, int]]:
        """Host and port of every origin that a model call went to."""
        asked = (item.recorded.request for item in self.exchanges.values() if item.call)
        return {(request.host, request.port) for request in asked}

    def reply_ends(self) -> dict[int, tuple[int, int]]:
        """Of each exchange whose reply has an end: that event's number and wall time."""
        exchanges = [item.exchange for item in self.exchanges.values()]
        ends = ((item.exchange_id, item.reply_body or item.failed) for item in exchanges)
        return {number: (end.seq, end.wall) for number, end in ends if end is not None}

    def model_requests(self) -> list[tuple[int, int]]:
        """Number and wall time of each event in which a model was asked, in order."""
        asked = (item.exchange.request for item in self.exchanges.values() if item.step)
        return sorted((event.seq, event.wall) for event in asked if event is not None)

    def _read(self, exchange: Exchange, cut_short: bool) -> RecordedExchange:
        recorded = self._recorded(exchange)
        request = recorded.request
        return RecordedExchange(
            exchange,
            recorded,
            self.calls.steps.get(exchange.exchange_id),
            side_call(request.method, request.host.lower(), request.path),
            early=cut_short and exchange.reply is not None,
            call=model_call(request.method, request.host.lower(), request.target, request.headers),
            lane=self.calls.aside.get(exchange.exchange_id, ""),
        )

    def _recorded(self, exchange: Exchange) -> Recorded:
        event, body = exchange.request, exchange.request_body
        assert event is not None
        digest, size = (body.digest, body.size) if body else (NO_BODY, 0)
        half = exchange.unfinished if exchange.unfinished and not body else None
        content = half.content() if half and half.side == "agent" else b""
        if content:
            digest, size = hashlib.sha256(content).digest(), len(content)

        def load() -> bytes | None:
            if body is None:
                return content
            if body.size > READ_LIMIT:
                return None
            try:
                return self.tape.blob(body.digest)
            except (TapeAltered, NotOnTape):
                # Its digest still stands in the event, and is all that is needed of an equal one.
                return None

        request = Request.read(
            parse_head(event.head),
            scheme=event.scheme,
            host=event.host,
            port=event.port,
            body=None,
            body_digest=digest,
            body_size=size,
            process_id=event.process_id,
        )
        said = partial(said_in, self.tape, exchange)
        return Recorded(exchange.exchange_id, request, load, event.seq, _ended(exchange), said)


def _ended(exchange: Exchange) -> int:
    """The number of the event after which nothing more of the exchange came."""
    if exchange.websocket:
        return exchange.websocket[-1].seq
    end = exchange.reply_body or exchange.failed
    return end.seq if end else _NEVER
