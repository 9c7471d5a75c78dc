"""Which exchanges of a run are model calls, and their numbers: `s1`, `s2` … Knows no body.

Step k is the moment before the k-th model call. Calls are numbered in the order of their requests.
The same body sent again after an attempt that failed is the same call, one attempt later: clients
retry by themselves, and nobody would count that as a step of the agent. A WebSocket session is one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rerail.llm.calls import ModelCall, model_call
from rerail.tape.exchange import Exchange
from rerail.wire.forms import split_absolute
from rerail.wire.http1 import Head, parse_head, request_line, status_line

RETRIED: Final = frozenset((408, 409, 425, 429))
"""Statuses below 500 after which clients send the same request again."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request of a model call: the step's number, and which attempt at it this is (from 1)."""

    step: int
    attempt: int
    call: ModelCall


_Ask = tuple[str, int, bytes, bytes]


def steps(exchanges: Iterable[Exchange]) -> dict[int, Attempt]:
    """The model calls among a tape's exchanges (in the order of their requests), by exchange id."""
    found: dict[int, Attempt] = {}
    to_retry: dict[_Ask, tuple[Attempt, int]] = {}
    count = 0
    for exchange in exchanges:
        call = call_of(exchange)
        if call is None or exchange.request is None:
            continue
        ask = _ask(exchange)
        earlier = to_retry.pop(ask, None)
        if earlier is not None and earlier[1] <= exchange.request.seq:
            attempt = Attempt(earlier[0].step, earlier[0].attempt + 1, call)
        else:
            count += 1
            attempt = Attempt(count, 1, call)
        found[exchange.exchange_id] = attempt
        failed_at = _failed_at(exchange)
        if failed_at is not None:
            to_retry[ask] = (attempt, failed_at)
    return found


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


def _failed_at(exchange: Exchange) -> int | None:
    """The event after which the same body would be a retry; None where the call was answered."""
    if exchange.failed is not None:
        return exchange.failed.seq
    if exchange.reply is None or exchange.reply_body is None:
        return None
    status = status_line(parse_head(exchange.reply.head)).status
    complete = exchange.reply_body.ended == "complete"
    if complete and status < 500 and status not in RETRIED:
        return None
    return exchange.reply_body.seq


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
