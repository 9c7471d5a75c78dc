"""Which exchanges of a run are model calls, and their numbers: `s1`, `s2` … A view over a tape.

Step k is the moment before the k-th model call. Calls are numbered in the order of their requests.
The same body sent again after an attempt that failed is the same call, one attempt later: clients
retry by themselves, and nobody would count that as a step of the agent. On a WebSocket, each
message that makes the model generate is a call; one that only warms it up is none.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from rerail.errors import RerailError
from rerail.llm.calls import ModelCall, is_turn, model_call, tells_turns
from rerail.tape.exchange import Exchange
from rerail.tape.records import WsMessage
from rerail.wire.forms import split_absolute
from rerail.wire.http1 import Head, parse_head, request_line, status_line

RETRIED: Final = frozenset((408, 409, 425, 429))
"""Statuses below 500 after which clients send the same request again."""


class TurnAt(NamedTuple):
    """A message of the agent (by its event's number) that made the model generate: which step."""

    event: int
    step: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request of a model call: the step's number, and which attempt at it this is (from 1).

    `turns` are those of a WebSocket session whose messages were read; `step` is its first then.
    """

    step: int
    attempt: int
    call: ModelCall
    turns: tuple[TurnAt, ...] = ()

    @property
    def steps(self) -> tuple[int, ...]:
        """All steps of this exchange."""
        return tuple(turn.step for turn in self.turns) or (self.step,)


_Ask = tuple[str, int, bytes, bytes]
_Moment = tuple[int, Exchange, ModelCall, bool]
"""The event at which a call is made, where, what it is, and whether that event is a message."""


def steps(
    exchanges: Iterable[Exchange],
    read: Callable[[bytes], bytes] | None = None,
    whole: Collection[int] = (),
) -> dict[int, Attempt]:
    """The model calls among a tape's exchanges, by exchange id.

    `read` gives the messages of WebSockets by digest: without it a session is one step. `whole` are
    the exchanges that ended with the agent's going away and are complete all the same
    (`rerail.llm.endings`).
    """
    found: dict[int, Attempt] = {}
    to_retry: dict[_Ask, tuple[Attempt, int]] = {}
    count = 0
    for event, exchange, call, is_message in sorted(_moments(exchanges, read), key=_when):
        earlier = None if is_message else to_retry.pop(_ask(exchange), None)
        if earlier is not None and earlier[1] <= event:
            attempt = Attempt(earlier[0].step, earlier[0].attempt + 1, call)
        else:
            count += 1
            attempt = Attempt(count, 1, call, (TurnAt(event, count),) if is_message else ())
        before = found.get(exchange.exchange_id)
        if before is not None:
            attempt = replace(before, turns=before.turns + attempt.turns)
        found[exchange.exchange_id] = attempt
        failed_at = None if is_message else _failed_at(exchange, whole)
        if failed_at is not None:
            to_retry[_ask(exchange)] = (attempt, failed_at)
    return found


def _when(moment: _Moment) -> int:
    return moment[0]


def _moments(
    exchanges: Iterable[Exchange], read: Callable[[bytes], bytes] | None
) -> Iterable[_Moment]:
    for exchange in exchanges:
        call = call_of(exchange)
        if call is None or exchange.request is None:
            continue
        if read is None or not exchange.websocket or not tells_turns(call.api):
            yield exchange.request.seq, exchange, call, False
            continue
        for message in exchange.websocket:
            if isinstance(message, WsMessage) and _generates(message, call, read):
                yield message.seq, exchange, call, True


def _generates(message: WsMessage, call: ModelCall, read: Callable[[bytes], bytes]) -> bool:
    if message.sender != "agent" or message.opcode != "text":
        return False
    try:
        return is_turn(call.api, read(message.content))
    except RerailError:
        return False


def call_of(exchange: Exchange) -> ModelCall | None:
    """The model call that an exchange's request is, or None."""
    request = exchange.request
    if request is None:
        return None
    return call_in(parse_head(request.head), request.host)


def call_in(head: Head, host: str) -> ModelCall | None:
    """The same for a request of which there is the head alone."""
    line = request_line(head)
    absolute = split_absolute(line.target)
    target = absolute[3] if absolute else line.target
    headers = [(_text(name), _text(value)) for name, value in head.headers]
    return model_call(_text(line.method), host.lower(), _text(target), headers)


def _ask(exchange: Exchange) -> _Ask:
    request, body = exchange.request, exchange.request_body
    assert request is not None
    target = request_line(parse_head(request.head)).target
    return request.host, request.port, target, body.digest if body else b""


def _failed_at(exchange: Exchange, whole: Collection[int]) -> int | None:
    """The event after which the same body would be a retry; None where the call was answered."""
    if exchange.failed is not None:
        return exchange.failed.seq
    if exchange.reply is None or exchange.reply_body is None:
        return None
    status = status_line(parse_head(exchange.reply.head)).status
    complete = exchange.reply_body.ended == "complete" or exchange.exchange_id in whole
    if complete and status < 500 and status not in RETRIED:
        return None
    return exchange.reply_body.seq


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
