"""WebSocket conversations (RFC 6455, RFC 7692): read from copies of their frames, and written.

`Decoder` watches both directions and says what was said; the frames themselves pass elsewhere,
untouched, so it never refuses: what it cannot read becomes `Undecodable`, once, and the rest of
that direction is not looked at. `Encoder` writes the frames of one side. Bytes in, events or bytes
out; no socket, no clock. `wsproto` is loaded at the first conversation.
"""

import os
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from rerail.wire.websocket_deflate import Deflate, Deflater, Inflater, Sender

if TYPE_CHECKING:
    from rerail.wire.websocket_frames import Part

DataOpcode = Literal["text", "binary"]

MESSAGE_LIMIT: Final = 64 << 20
"""Bytes of one message that are kept; of a longer one there is its beginning, and its size."""

FRAMES_LIMIT: Final = 1 << 16
"""Frames of one message that are told apart; further ones are told as part of the last."""

NO_STATUS: Final = 1005
"""The code of a close frame without one (RFC 6455 section 7.1.5); never on the wire."""

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x1, 0x2, 0x8, 0x9, 0xA


def accept_key(sec_websocket_key: bytes) -> bytes:
    """The `Sec-WebSocket-Accept` that answers a key (RFC 6455 section 4.2.2, step 5.4)."""
    return b64encode(sha1(sec_websocket_key.strip() + _GUID, usedforsecurity=False).digest())


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a message: its payload's length on the wire, and when its last byte came."""

    size: int
    at: int


@dataclass(frozen=True, slots=True)
class Message:
    """A text or binary message, put together and decompressed.

    `size` is the length of the whole; `payload` holds no more than the decoder's limit of it. Text
    is not checked to be UTF-8. `unfinished`: the conversation ended, or could no longer be read,
    before the message was complete.
    """

    sender: Sender
    opcode: DataOpcode
    payload: bytes
    size: int
    frames: tuple[Frame, ...]
    compressed: bool = False
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    """A ping or a pong."""

    sender: Sender
    opcode: Literal["ping", "pong"]
    payload: bytes
    at: int


@dataclass(frozen=True, slots=True)
class Close:
    """A close frame; what of its reason is not UTF-8 is replaced."""

    sender: Sender
    code: int
    reason: str
    at: int


@dataclass(frozen=True, slots=True)
class Undecodable:
    """From here on one direction cannot be read; the conversation itself may well go on."""

    sender: Sender
    reason: str
    at: int


Event = Message | Control | Close | Undecodable


class Decoder:
    """Reads both directions of one conversation.

    Memory stays bounded: a message is let go as soon as it is told, and one above the limit keeps
    its beginning alone.
    """

    def __init__(self, extensions: str = "", *, limit: int = MESSAGE_LIMIT) -> None:
        """`extensions` is the reply's `Sec-WebSocket-Extensions`; `limit` is in bytes."""
        deflate = Deflate.agreed(extensions)
        self._agent = _Side("agent", deflate, limit)
        self._origin = _Side("origin", deflate, limit)

    def feed(self, sender: Sender, data: bytes, *, at: int) -> list[Event]:
        """Take bytes that one side sent, read at time `at`; returns what they complete."""
        return (self._agent if sender == "agent" else self._origin).feed(data, at)

    def end(self) -> list[Event]:
        """The connection is over: the messages that had begun and not ended."""
        return [*self._agent.end(), *self._origin.end()]


class _Side:
    """One direction: frames made into messages."""

    def __init__(self, sender: Sender, deflate: Deflate | None, limit: int) -> None:
        from rerail.wire.websocket_frames import FrameReader, ParseFailed

        self._unreadable = (ParseFailed, zlib.error, _OutOfOrder)
        self._sender = sender
        self._limit = limit
        self._reader = FrameReader(masked=sender == "agent", deflate=deflate is not None)
        self._inflater = Inflater(resets=deflate is not None and sender in deflate.resets)
        self._message: _Growing | None = None
        self._over = False

    def feed(self, data: bytes, at: int) -> list[Event]:
        events: list[Event] = []
        if self._over:
            return events
        try:
            for part in self._reader.read(data):
                events.extend(self._part(part, at))
                if part.opcode == _CLOSE:
                    self._over = True
                    break
        except self._unreadable as error:
            self._over = True
            events += self.end()
            events.append(Undecodable(self._sender, str(error), at))
        return events

    def end(self) -> list[Event]:
        message, self._message = self._message, None
        return [] if message is None else [message.told(self._sender, unfinished=True)]

    def _part(self, part: "Part", at: int) -> Iterator[Event]:
        if part.opcode == _CLOSE:
            yield from self.end()
            yield self._close(part.payload, at)
            return
        if part.opcode in (_PING, _PONG):
            name: Literal["ping", "pong"] = "ping" if part.opcode == _PING else "pong"
            yield Control(self._sender, name, part.payload, at)
            return
        message = self._message_of(part)
        for piece in self._inflated(message, part):
            message.add(piece, self._limit)
        if part.frame_ends:
            message.add_frame(Frame(part.size, at))
        if part.message_ends:
            self._message = None
            yield message.told(self._sender)

    def _message_of(self, part: "Part") -> "_Growing":
        """The message that a part belongs to (RFC 6455 section 5.4)."""
        begins = part.frame_begins and part.opcode in (_TEXT, _BINARY)
        if begins == (self._message is not None) and part.frame_begins:
            raise _OutOfOrder(
                "a message begins inside another" if begins else "a message goes on unbegun"
            )
        if begins:
            opcode: DataOpcode = "text" if part.opcode == _TEXT else "binary"
            self._message = _Growing(opcode, part.compressed)
        assert self._message is not None
        return self._message

    def _inflated(self, message: "_Growing", part: "Part") -> Iterator[bytes]:
        if not message.compressed:
            yield part.payload
            return
        yield from self._inflater.inflate(part.payload)
        if part.message_ends:
            yield from self._inflater.end_message()

    def _close(self, payload: bytes, at: int) -> Close:
        code = int.from_bytes(payload[:2]) if len(payload) > 1 else NO_STATUS
        return Close(self._sender, code, payload[2:].decode("utf-8", "replace"), at)


class _OutOfOrder(Exception):
    """Frames that are well formed and may not follow each other."""


class _Growing:
    """A message whose frames are still coming."""

    __slots__ = ("_kept", "_opcode", "_parts", "_size", "compressed", "frames")

    def __init__(self, opcode: DataOpcode, compressed: bool) -> None:
        self._opcode = opcode
        self.compressed = compressed
        self.frames: list[Frame] = []
        self._parts: list[bytes] = []
        self._kept = 0
        self._size = 0

    def add(self, data: bytes, limit: int) -> None:
        self._size += len(data)
        kept = data[: limit - self._kept]
        if kept:
            self._parts.append(kept)
            self._kept += len(kept)

    def add_frame(self, frame: Frame) -> None:
        if len(self.frames) >= FRAMES_LIMIT:
            frame = Frame(self.frames.pop().size + frame.size, frame.at)
        self.frames.append(frame)

    def told(self, sender: Sender, *, unfinished: bool = False) -> Message:
        payload = b"".join(self._parts)
        frames = tuple(self.frames)
        return Message(
            sender, self._opcode, payload, self._size, frames, self.compressed, unfinished
        )


class Encoder:
    """Writes the frames of one side of a conversation."""

    def __init__(
        self, sender: Sender, extensions: str = "", *, mask: Callable[[int], bytes] = os.urandom
    ) -> None:
        """`extensions` as agreed in the reply; `mask` draws the keys of an agent's frames.

        zlib cannot write for a window of 256 bytes, so where that was agreed on messages go
        uncompressed, which any side may do at any time (RFC 7692 section 6).
        """
        self._mask = mask if sender == "agent" else None
        deflate = Deflate.agreed(extensions)
        self._deflater: Deflater | None = None
        if deflate is not None and deflate.window(sender) > 8:
            self._deflater = Deflater(deflate.window(sender), resets=sender in deflate.resets)

    def message(
        self,
        opcode: DataOpcode,
        payload: bytes,
        *,
        compressed: bool = False,
        frames: Sequence[int] = (),
    ) -> list[bytes]:
        """The frames of one message, in as many frames as recorded.

        `frames` holds the payload lengths they had on the wire: kept where the message is not
        compressed, else the content is shared out in the same proportions.
        """
        deflater = self._deflater if compressed else None
        parts = _shared(payload, frames)
        written: list[bytes] = []
        for number, part in enumerate(parts, start=1):
            last = number == len(parts)
            content = part if deflater is None else deflater.deflate(part, last=last)
            first_byte = (0x80 if last else 0) | (0x40 if deflater and number == 1 else 0)
            if number == 1:
                first_byte |= _TEXT if opcode == "text" else _BINARY
            written.append(self._frame(first_byte, content))
        return written

    def ping(self, payload: bytes = b"") -> bytes:
        """A ping; `payload` is at most 125 bytes."""
        return self._frame(0x80 | _PING, payload[:125])

    def pong(self, payload: bytes = b"") -> bytes:
        """A pong; `payload` is at most 125 bytes."""
        return self._frame(0x80 | _PONG, payload[:125])

    def close(self, code: int = NO_STATUS, reason: str = "") -> bytes:
        """A close frame; without a code where it is none (`NO_STATUS`, or no two bytes hold it).

        A reason is cut at 123 bytes.
        """
        if code == NO_STATUS or not 0 <= code < 1 << 16:
            return self._frame(0x80 | _CLOSE, b"")
        shortened = reason.encode()[:123].decode("utf-8", "ignore").encode()
        return self._frame(0x80 | _CLOSE, struct.pack("!H", code) + shortened)

    def _frame(self, first_byte: int, payload: bytes) -> bytes:
        """RFC 6455 section 5.2."""
        masked = 0x80 if self._mask else 0
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", first_byte, masked | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", first_byte, masked | 126, size)
        else:
            head = struct.pack("!BBQ", first_byte, masked | 127, size)
        if self._mask is None:
            return head + payload
        key = self._mask(4)
        return head + key + _masked(payload, key)


def _masked(payload: bytes, key: bytes) -> bytes:
    """RFC 6455 section 5.3, all bytes at once as one large number."""
    pad = (key * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload) ^ int.from_bytes(pad)).to_bytes(len(payload))


def _shared(payload: bytes, frames: Sequence[int]) -> list[bytes]:
    """The payload in as many parts as there were frames, in the proportions they had."""
    total = sum(frames)
    if len(frames) < 2 or total == 0:
        return [payload, *[b""] * (len(frames) - 1)]
    ends, done = [0], 0
    for size in frames:
        done += size
        ends.append(len(payload) * done // total)
    return [payload[start:end] for start, end in pairwise(ends)]
