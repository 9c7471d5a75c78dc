"""A recorded WebSocket conversation, played: what to say next, and whether the agent keeps to it.

What the origin said is said again when the agent has said what it said before that. Pings, and
messages that are pings by another name, are answered as they come, whatever was recorded: they go
by a timer. Knows no socket and no frames.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from msgspec.structs import replace

from rerail.compare.alike import Likeness
from rerail.compare.canon import BodyKey, Request, body_key
from rerail.compare.divergence import differences
from rerail.compare.keepalive import LARGEST, RULE, is_keepalive
from rerail.compare.misses import Miss
from rerail.compare.reasons import body_reasons
from rerail.compare.recorded import Recorded
from rerail.compare.volatile import Rules
from rerail.errors import NotOnTape, TapeAltered
from rerail.llm.calls import ModelCall, is_turn
from rerail.tape.records import Side, WsClosed, WsMessage, WsOpened

ABNORMAL = 1006
NO_STATUS = 1005
"""Codes that are never sent: the connection ended without a close frame, or without a code."""

Spoken = Literal["text", "binary", "ping", "pong", "close", "drop"]


@dataclass(frozen=True, slots=True)
class Say:
    """One thing to send. `drop` ends the connection without a close frame.

    `read` gives the payload of a recorded message when it is said: all that an origin said in one
    go may be too much to hold. `at` is when it came in the recording (ns since the run began),
    `frames` the table of the lengths and times of its frames (`rerail.tape.chunks`); `code` and
    `reason` are a close frame's.
    """

    kind: Spoken
    payload: bytes = b""
    at: int = 0
    frames: bytes = b""
    compressed: bool = False
    code: int = 0
    reason: str = ""
    read: Callable[[], bytes] | None = None

    def content(self) -> bytes:
        """The payload. Raises `TapeAltered` or `NotOnTape` where the tape does not hold it."""
        return self.read() if self.read is not None else self.payload


@dataclass(frozen=True, slots=True)
class Heard:
    """What follows from a message of the agent: things to say, or why it was not recorded.

    `at` is when the message came in the recording (ns since the run began), `turn` its event where
    it made the model generate. `goes_live`: what follows is not on the tape.
    """

    say: tuple[Say, ...] = ()
    rules: tuple[str, ...] = ()
    miss: Miss | None = None
    at: int = 0
    turn: int = 0
    goes_live: bool = False


class Conversation:
    """One conversation: `begin` once the upgrade is answered, then `heard` for each message."""

    def __init__(
        self,
        recorded: Recorded,
        events: tuple[WsOpened | WsMessage | WsClosed, ...],
        read: Callable[[bytes], bytes],
        rules: Rules,
        call: ModelCall | None,
        likeness: Likeness | None = None,
    ) -> None:
        self._recorded = recorded
        self._read = read
        self._pong: WsMessage | None = None
        self._events = self._without_timers(events)
        self._rules = rules
        self._likeness = likeness or Likeness(rules)
        self._call = call
        self._next = 0
        self.spoke_first = False
        self.messages_heard = 0
        self.turns_heard = 0

    def begin(self) -> tuple[Say, ...]:
        """What the origin said before the agent said anything."""
        said = self._until_agent()
        self.spoke_first = bool(said)
        return said

    def heard(self, kind: Spoken, payload: bytes = b"", *, code: int = NO_STATUS) -> Heard:
        """The agent sent a message, a control frame, a close, or went away (`drop`)."""
        if kind == "ping":
            return Heard((Say("pong", payload),))
        if kind == "pong":
            return Heard()
        expected = self._events[self._next] if self._next < len(self._events) else None
        if kind in ("close", "drop"):
            if isinstance(expected, WsClosed):
                self._next += 1
            answered = Say("close", code=code) if kind == "close" else Say("drop")
            return Heard(self._until_agent() or (answered,))
        if is_keepalive(payload):
            return Heard((self._say(self._pong),) if self._pong else (), (RULE,))
        self.messages_heard += 1
        if not isinstance(expected, WsMessage):
            return Heard(miss=Miss("extra", self.as_request(payload), self._recorded))
        return self._compare(expected, kind, payload)

    @property
    def here(self) -> int:
        """The event that the agent is expected to come to next; beyond the last one at the end."""
        if self._next < len(self._events):
            return self._events[self._next].seq
        return self._events[-1].seq + 1 if self._events else 1

    def said_before(self, turn: int) -> Iterator[tuple[Side, bytes]]:
        """What both sides had said up to a message of the agent, in its present identifiers.

        Raises TapeAltered, NotOnTape.
        """
        for event in self._events:
            if event.seq >= turn:
                return
            if isinstance(event, WsMessage) and event.opcode == "text":
                yield event.sender, self._present(event.content)

    @property
    def exchange_id(self) -> int:
        """The recorded exchange that is played."""
        return self._recorded.exchange_id

    @property
    def turns(self) -> int:
        """How many messages of the agent made a model generate, in the recording."""
        return sum(self._is_turn(event) for event in self._events)

    @property
    def unheard(self) -> int:
        """Messages of the agent that were recorded and did not come."""
        return sum(
            isinstance(event, WsMessage) and event.sender == "agent"
            for event in self._events[self._next :]
        )

    def _compare(self, expected: WsMessage, kind: Spoken, payload: bytes) -> Heard:
        content = self._read(expected.content)
        rules: tuple[str, ...] = ()
        if expected.opcode != kind or content != payload:
            old, new = self.as_request(content), self.as_request(payload)
            equal = expected.opcode == kind
            found = self._rules_for(old, new, expected.seq) if equal else None
            if found is None:
                excuse = self._likeness.excuse(expected.seq)
                differing = tuple(differences(old, new, self._rules, excuse))
                return Heard(miss=Miss("different", new, self._recorded, differing))
            rules = found
        else:
            self._likeness.keep_message(partial(self._recorded_message, expected.content))
        is_turn = self._is_turn(expected)
        self.turns_heard += is_turn
        self._next += 1
        turn = expected.seq if is_turn else 0
        return Heard(self._until_agent(), rules, at=expected.at, turn=turn)

    def _rules_for(self, old: Request, new: Request, event: int) -> tuple[str, ...] | None:
        """By which rules a message is the recorded one; None where it is not."""
        first, second = self._key(old), self._key(new)
        rules = tuple(body_reasons(first, second))
        if first.loose == second.loose:
            self._likeness.keep_message(lambda: old)
            return rules
        alike = self._likeness.message(old, new, event)
        if alike is None:
            return None
        self._likeness.adopt(alike)
        return rules + alike.rules

    def _recorded_message(self, content: bytes) -> Request:
        return self.as_request(self._read(content))

    def as_request(self, payload: bytes) -> Request:
        """A message in the form in which requests are compared: a body under the upgrade's head."""
        headers = (*self._recorded.request.headers, ("content-type", "application/json"))
        digest = hashlib.sha256(payload).digest()
        request = replace(self._recorded.request, headers=headers)
        return replace(request, body=payload, body_digest=digest, body_size=len(payload))

    def _key(self, request: Request) -> BodyKey:
        return body_key(request, self._rules.for_api(self._call.api if self._call else ""))

    def _until_agent(self) -> tuple[Say, ...]:
        """What the origin said up to the agent's next word."""
        said: list[Say] = []
        while self._next < len(self._events):
            event = self._events[self._next]
            if event.sender == "agent":
                break
            said.append(self._say(event))
            self._next += 1
        return tuple(said)

    def _say(self, event: WsMessage | WsClosed) -> Say:
        if isinstance(event, WsClosed):
            kind: Spoken = "drop" if event.code == ABNORMAL else "close"
            return Say(kind, at=event.at, code=event.code, reason=event.reason)
        return Say(
            event.opcode,
            at=event.at,
            frames=event.frames,
            compressed=event.compressed,
            read=partial(self._present, event.content),
        )

    def _present(self, content: bytes) -> bytes:
        """What the origin said, in the agent's own identifiers where they differ."""
        payload = self._read(content)
        renaming = self._likeness.renaming
        return renaming.present(payload) if renaming.renamed else payload

    def _without_timers(
        self, events: tuple[WsOpened | WsMessage | WsClosed, ...]
    ) -> list[WsMessage | WsClosed]:
        """The events without pings and the like; the origin's answer to one is remembered."""
        left: list[WsMessage | WsClosed] = []
        asked = False
        for event in events:
            if isinstance(event, WsOpened) or _is_answer(event):
                continue
            if isinstance(event, WsMessage) and self._goes_by_timer(event):
                if event.sender == "agent":
                    asked = True
                    continue
                if asked:
                    self._pong = self._pong or event
                    asked = False
                    continue
            left.append(event)
        return left

    def _goes_by_timer(self, event: WsMessage) -> bool:
        if event.opcode not in ("text", "binary") or event.size > LARGEST:
            return False
        try:
            return is_keepalive(self._read(event.content))
        except (TapeAltered, NotOnTape):
            return False

    def _is_turn(self, event: WsMessage | WsClosed) -> bool:
        if not isinstance(event, WsMessage) or event.sender != "agent" or self._call is None:
            return False
        return event.opcode == "text" and is_turn(self._call.api, self._read(event.content))


def _is_answer(event: WsMessage | WsClosed) -> bool:
    """Pings of the agent and all pongs: they are answered or left out as they come."""
    if not isinstance(event, WsMessage):
        return False
    return event.opcode == "pong" or (event.opcode == "ping" and event.sender == "agent")
