"""What went wrong on the wire: no connection, no reply, half a reply, a fault of the service.

A request that may change something and had no answer, or a 5xx, has an unknown outcome: it may have
been done. Model calls are named as such; the client's own retries of them are ordinary.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from rerail.llm.steps import call_in
from rerail.tape.records import (
    ConnectionFailed,
    Event,
    HttpFailed,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
)
from rerail.trace.detect.detector import OverEvents
from rerail.trace.detect.tools import only_reads
from rerail.trace.finding import Evidence, Finding
from rerail.wire.http1 import parse_head, request_line, status_line

_CHANGES: Final = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_BROKEN: Final = frozenset(("cut", "truncated", "reset", "timeout"))
_FAULT: Final = 500
_RATE: Final = (429, 529)


class _Asked(NamedTuple):
    event: int
    what: str
    changes: bool
    is_model: bool


@lru_cache(maxsize=256)
def _read(head: bytes, host: str) -> tuple[str, bool, bool]:
    """What is asked, whether it may change something, whether it is a model call.

    Every detector here asks it of every request, and clients send the same heads again and again.
    """
    parsed = parse_head(head)
    line = request_line(parsed)
    method = line.method.decode("latin-1")
    path = line.target.decode("latin-1").partition("?")[0]
    is_model = call_in(parsed, host) is not None
    changes = method in _CHANGES and not is_model and not only_reads(path.rpartition("/")[2])
    return f"{method} {host}{path}", changes, is_model


@dataclass(slots=True)
class _Requests:
    """The requests that are still open, by exchange."""

    source: str
    asked: dict[int, _Asked] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        if isinstance(event, HttpRequest):
            self.asked[event.exchange_id] = _Asked(event.seq, *_read(event.head, event.host))

    def forget(self, event: Event) -> None:
        """Leave an exchange that is over."""
        if isinstance(event, HttpReplyBody | HttpFailed):
            self.asked.pop(event.exchange_id, None)

    def evidence(self, exchange: int, event: Event, says: str) -> list[Evidence]:
        asked = self.asked.get(exchange)
        return [
            Evidence(self.source, f"r{exchange}", asked.what if asked else ""),
            Evidence(self.source, f"e{event.seq}", says),
        ]


@dataclass(slots=True)
class _Unknown(_Requests):
    """A change was asked for, and no record says whether it was made."""

    def see(self, event: Event) -> Iterator[Finding]:
        self.note(event)
        asked = self.asked.get(getattr(event, "exchange_id", 0))
        if asked is not None and asked.changes:
            match event:
                case HttpFailed(ended=ended):
                    yield self._finding(asked, event, f"no reply came ({ended})")
                case HttpReplyHead(head=head):
                    status = status_line(parse_head(head)).status
                    if status >= _FAULT:
                        yield self._finding(asked, event, f"the reply is {status}")
        self.forget(event)

    def _finding(self, asked: _Asked, event: HttpReplyHead | HttpFailed, what: str) -> Finding:
        return UNKNOWN.finding(
            f"{asked.what}: {what}, so its outcome is unknown",
            self.evidence(event.exchange_id, event, what),
            event.seq,
        )

    def end(self) -> Iterator[Finding]:
        for exchange, asked in self.asked.items():
            if asked.changes:
                yield UNKNOWN.finding(
                    f"{asked.what}: the recording ends before a reply, so its outcome is unknown",
                    [Evidence(self.source, f"r{exchange}", asked.what)],
                    asked.event,
                )


@dataclass(slots=True)
class _Broken(_Requests):
    """A reply broke off on the wire, or none came to a request that changes nothing.

    `of_models` says whose replies are looked at: those of models, or all others.
    """

    of_models: bool = False

    def see(self, event: Event) -> Iterator[Finding]:
        self.note(event)
        asked = self.asked.get(getattr(event, "exchange_id", 0))
        if asked is not None and asked.is_model is self.of_models:
            match event:
                case HttpReplyBody(ended=ended) if ended in _BROKEN:
                    yield self._finding(asked, event, f"its reply broke off ({ended})")
                case HttpFailed(ended=ended) if ended != "agent_closed" and not asked.changes:
                    yield self._finding(asked, event, f"no reply came ({ended})")
        self.forget(event)

    def _finding(self, asked: _Asked, event: HttpReplyBody | HttpFailed, what: str) -> Finding:
        kind = BROKEN_MODEL if self.of_models else BROKEN
        evidence = self.evidence(event.exchange_id, event, what)
        return kind.finding(f"{asked.what}: {what}", evidence, event.seq)

    def end(self) -> Iterator[Finding]:
        return iter(())


@dataclass(slots=True)
class _Limited(_Requests):
    """A service other than a model turned a request away for there being too many."""

    def see(self, event: Event) -> Iterator[Finding]:
        self.note(event)
        if isinstance(event, HttpReplyHead):
            status = status_line(parse_head(event.head)).status
            asked = self.asked.get(event.exchange_id)
            if status in _RATE and asked and not asked.is_model:
                yield LIMITED.finding(
                    f"{asked.what}: turned away, too many requests ({status})",
                    self.evidence(event.exchange_id, event, str(status)),
                    event.seq,
                )
        self.forget(event)

    def end(self) -> Iterator[Finding]:
        return iter(())


@dataclass(slots=True)
class _Unreached:
    """An origin could not be reached at all."""

    source: str

    def see(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, ConnectionFailed):
            yield UNREACHED.finding(
                f"{event.host}:{event.port} could not be reached ({event.phase}): {event.reason}",
                [Evidence(self.source, f"e{event.seq}", event.reason)],
                event.seq,
            )

    def end(self) -> Iterator[Finding]:
        return iter(())


@dataclass(slots=True)
class _Twice(_Requests):
    """The same change was sent again after it had been answered as done."""

    bodies: dict[int, bytes] = field(default_factory=dict)
    done: dict[tuple[str, bytes], int] = field(default_factory=dict)

    def see(self, event: Event) -> Iterator[Finding]:
        self.note(event)
        if isinstance(event, HttpRequest | HttpRequestBody) and event.body is not None:
            self.bodies[event.exchange_id] = event.body.digest
            yield from self._again(event.exchange_id, event)
        elif isinstance(event, HttpReplyHead):
            status = status_line(parse_head(event.head)).status
            asked, body = self.asked.get(event.exchange_id), self.bodies.get(event.exchange_id)
            if 200 <= status < 300 and asked and asked.changes and body:
                self.done.setdefault((asked.what, body), event.exchange_id)
        elif isinstance(event, HttpReplyBody | HttpFailed):
            self.forget(event)
            self.bodies.pop(event.exchange_id, None)

    def _again(self, exchange: int, event: Event) -> Iterator[Finding]:
        asked = self.asked.get(exchange)
        first = self.done.get((asked.what, self.bodies[exchange])) if asked else None
        if asked and first is not None and first != exchange:
            yield TWICE.finding(
                f"{asked.what} was sent again as it was, after it had been done",
                [
                    Evidence(self.source, f"r{first}", asked.what),
                    Evidence(self.source, f"r{exchange}", asked.what),
                ],
                event.seq,
            )

    def end(self) -> Iterator[Finding]:
        return iter(())


UNKNOWN = OverEvents(
    "unknown-outcome", "tool", "structure", "requests that change, and replies", _Unknown
)
BROKEN = OverEvents("broken-transfer", "tool", "structure", "how replies ended", _Broken)
BROKEN_MODEL = OverEvents(
    "broken-model-reply",
    "runtime",
    "structure",
    "how replies of models ended",
    lambda source: _Broken(source, of_models=True),
)
LIMITED = OverEvents("turned-away", "runtime", "structure", "statuses of replies", _Limited)
UNREACHED = OverEvents(
    "origin-unreached", "runtime", "structure", "connections that failed", _Unreached
)
TWICE = OverEvents(
    "request-twice", "agent", "linkage", "requests that change, and their bodies", _Twice
)
DETECTORS = [UNKNOWN, BROKEN, BROKEN_MODEL, LIMITED, UNREACHED, TWICE]
