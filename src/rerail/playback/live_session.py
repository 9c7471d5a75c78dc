"""A WebSocket to an origin, opened where a replay's own conversation goes on live.

The agent's upgrade is sent again, without extensions: what passes is put into frames anew on each
side. Reaches the origin through the relay that it is given.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Literal

from rerail.playback.conversation import NO_STATUS, Say, Spoken
from rerail.playback.onward import Hear
from rerail.wire.http1 import parse_head, status_line
from rerail.wire.websocket import Close, Control, Decoder, Encoder, Message

_END_OF_HEAD: Final = b"\r\n\r\n"
_HEAD_SIZE: Final = 64 << 10
_GOING_AWAY: Final = 1011
_DROPPED: Final = (b"sec-websocket-extensions:",)


class LiveSession:
    """The agent's part towards the origin; what the origin says is told to `hear`."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._write: Callable[[bytes], None] | None = None
        self._waiting: deque[bytes] = deque()
        self._encoder = Encoder("agent")
        self._decoder = Decoder()
        self._head = b""
        self._state: Literal["opening", "open", "over"] = "opening"

    def begin(self, upgrade: bytes, write: Callable[[bytes], None]) -> None:
        """The origin is reached: ask it for a WebSocket as the agent did."""
        self._write = write
        lines = upgrade.partition(_END_OF_HEAD)[0].split(b"\r\n")
        kept = [line for line in lines if not line.lower().startswith(_DROPPED)]
        write(b"\r\n".join(kept) + _END_OF_HEAD)

    def fail(self, reason: str) -> None:
        """There is no conversation, or no longer."""
        if self._state != "over":
            self._state = "over"
            self._hear(Say("close", code=_GOING_AWAY, reason=f"rerail: {reason}"[:120]))

    def send(self, kind: Spoken, payload: bytes, *, code: int = NO_STATUS) -> None:
        """Say something to the origin, once it listens."""
        for frame in self._frames(kind, payload, code):
            if self._state == "open" and self._write is not None:
                self._write(frame)
            elif self._state == "opening":
                self._waiting.append(frame)

    def _frames(self, kind: Spoken, payload: bytes, code: int) -> list[bytes]:
        match kind:
            case "text" | "binary":
                return self._encoder.message(kind, payload)
            case "ping":
                return [self._encoder.ping(payload)]
            case "pong":
                return [self._encoder.pong(payload)]
        return [self._encoder.close(code)]

    # The origin's side: what a relay has to write to its agent.

    def write(self, data: bytes) -> None:
        if self._state == "opening":
            data = self._opened(data)
        if self._state != "open" or not data:
            return
        for event in self._decoder.feed("origin", data, at=0):
            match event:
                case Message(opcode=opcode, payload=payload):
                    self._hear(Say(opcode, payload))
                case Control(opcode="ping", payload=payload):
                    self.send("pong", payload)
                case Close(code=code, reason=reason):
                    self._state = "over"
                    self._hear(Say("close", code=code, reason=reason))

    def _opened(self, data: bytes) -> bytes:
        """Read the reply to the upgrade; returns what comes behind it."""
        self._head += data
        head, ends, rest = self._head.partition(_END_OF_HEAD)
        if not ends:
            if len(self._head) > _HEAD_SIZE:
                self.fail("the origin's answer to the upgrade has no end")
            return b""
        status = status_line(parse_head(head + _END_OF_HEAD)).status
        if status != 101:
            self.fail(f"the origin answered the upgrade with status {status}")
            return b""
        self._state = "open"
        while self._waiting and self._write is not None:
            self._write(self._waiting.popleft())
        return rest

    def write_end(self) -> None:
        self.close()

    def close(self) -> None:
        if self._state == "open":
            self._state = "over"
            self._hear(Say("drop"))
        else:
            self.fail("the origin closed the connection")

    def cut(self) -> None:
        self.close()

    def reset(self) -> None:
        self.close()

    def read_on(self, ready: bool) -> None:
        """The messages of a model are small beside what is held anyway."""
