"""A tape as a source of a case: its events as records, one by one, and what opens them.

What an event says in words is given, since words are the command line's. Only events of the two
planes have their fields in their records; of all others a record holds what joins it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec.structs import asdict

from rerail.errors import RerailError
from rerail.llm.steps import call_in
from rerail.tape.plane_records import TaskAccepted
from rerail.tape.reader import Tape
from rerail.tape.records import (
    Body,
    Event,
    HttpReplyHead,
    HttpRequest,
    RunEnded,
    kind_of,
)
from rerail.trace.record import FIELDS, Record
from rerail.trace.story import Gap, Story
from rerail.trace.telling import story_of
from rerail.trace.terms import terms
from rerail.wire.http1 import parse_head

_REQUEST_ID: Final = re.compile(
    rb"\r\n(?:x-request-id|request-id|x-correlation-id|idempotency-key|traceparent):[ \t]*"
    rb"([\x21-\x7e]+)",
    re.IGNORECASE,
)
_SAFE: Final = (b"GET ", b"HEAD ", b"OPTIONS ", b"TRACE ", b"CONNECT ")
_TOLD_OF: Final = (
    "run.", "task.", "observation.", "baseline.", "scratch.", "agent.", "budget.", "proposal.",
    "check.", "verdict.", "approval.", "action.", "target.", "cleanup.", "hold.", "retry.",
    "capture.", "process.ended",
)  # fmt: skip


class Words(Protocol):
    """How events are put into words, given by whoever shows them."""

    def line(self, event: Event) -> str:
        """What an event says, in one line."""
        ...

    def whole(self, tape: Tape, ref: str) -> str:
        """What stands at a place of a tape, as text. Raises NotOnTape."""
        ...


class TapeSource:
    """One tape of a case. Holds the file open: use it in a `with` block or call `close`."""

    recorded = True

    def __init__(self, name: str, path: Path, words: Words, *, tape_id: str = "") -> None:
        self.name = name
        self.title = path.name
        self.tape_id = tape_id
        self.tape = Tape.open(path)
        self.damage: list[RerailError] = []
        self._words = words

    def close(self) -> None:
        """Give the file up."""
        self.tape.close()

    @property
    def whole(self) -> bool:
        """Whether it has its end record: its numbers have no gap, or reading it would fail."""
        return self.tape.ended is not None

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What the recorder itself says that it missed stands on the tape as records."""
        return ()

    def records(self, *, worded: bool = True) -> Iterator[Record]:
        """Every event. Raises TapeAltered where one cannot be read."""
        asked: dict[int, tuple[tuple[str, str], ...]] = {}
        for event in self.tape.events():
            ids: tuple[tuple[str, str], ...] = ()
            if isinstance(event, HttpRequest):
                ids = _request_ids(event.head)
                if ids:
                    asked[event.exchange_id] = ids
            elif isinstance(event, HttpReplyHead):
                ids = asked.pop(event.exchange_id, ()) or _request_ids(event.head)
            yield self._record(event, worded, ids)

    def worded(self, record: Record) -> Record:
        """The same record with its words."""
        return replace(record, says=self._words.line(self.tape.event(record.order)))

    def events(self) -> Iterator[Event]:
        """Every event as it is."""
        return self.tape.events()

    def story(self) -> Story:
        """The conversation. Raises TapeAltered."""
        return story_of(self.tape, self.name, damaged=self.damage.append)

    def evidence(self, ref: str) -> str:
        """The event, exchange or step of that number, with its content. Raises NotOnTape."""
        return self._words.whole(self.tape, ref)

    def content(self, digest: str) -> bytes:
        """The content with that digest (`sha256:…`). Raises NotOnTape."""
        return self.tape.blob(bytes.fromhex(digest.removeprefix("sha256:")))

    def _record(self, event: Event, worded: bool, ids: tuple[tuple[str, str], ...]) -> Record:
        kind = kind_of(event)
        told = kind.startswith(_TOLD_OF)
        fields = self._told(event) if told else self._joining(event)
        return Record(
            self.name,
            f"e{event.seq}",
            event.seq,
            kind,
            event.component,
            self._words.line(event) if worded else "",
            event.wall,
            self._ids(event, fields) if told else ids,
            fields,
        )

    def _told(self, event: Event) -> Mapping[str, Any]:
        fields = {name: _plain(value) for name, value in asdict(event).items()}
        return {**fields, **self._terms(event)} if isinstance(event, TaskAccepted) else fields

    def _joining(self, event: Event) -> Mapping[str, Any]:
        number = getattr(event, "exchange_id", 0)
        if isinstance(event, HttpRequest):
            return {"exchange": number, "writes": _writes(event)}
        if isinstance(event, HttpReplyHead):
            return {"exchange": number, "status": event.head[9:12].decode("latin-1")}
        return {"exchange": number} if number else {}

    def _terms(self, event: TaskAccepted) -> Mapping[str, Any]:
        """What the contract states; nothing where its file cannot be read."""
        try:
            return terms(self.tape.blob(event.contract.digest))
        except RerailError as error:
            self.damage.append(error)
            return {}

    def _ids(self, event: Event, fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        own = [(known, str(fields[name])) for known, name in FIELDS.items() if fields.get(name)]
        if isinstance(event, RunEnded) and self.tape_id:
            own.append(("tape", self.tape_id))
        return tuple(own)


def _request_ids(head: bytes) -> tuple[tuple[str, str], ...]:
    """What both sides of an HTTP request call it."""
    return tuple(("request", value.decode("latin-1")) for value in _REQUEST_ID.findall(head))


def _writes(request: HttpRequest) -> bool:
    """Whether a request may change something where it goes: no mere reading, and no model call.

    By its method alone (RFC 9110 section 9.2.1): what a service does with it, it knows itself.
    """
    if request.head.startswith(_SAFE):
        return False
    return call_in(parse_head(request.head), request.host) is None


def _plain(value: object) -> Any:
    """A field as plain values, a digest as `sha256:…`."""
    if isinstance(value, Body):
        return {"digest": f"sha256:{value.digest.hex()}", "size": value.size}
    if isinstance(value, bytes):
        if len(value) == 32:
            return f"sha256:{value.hex()}"
        return value.decode("utf-8", "replace")
    return value
