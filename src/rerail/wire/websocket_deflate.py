"""permessage-deflate (RFC 7692): what was agreed on, and one side's compression undone and done.

Knows messages as bytes and nothing of frames. Inflating is done in small pieces, so that a few
bytes made to grow large never stand in memory whole.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, Self

Sender = Literal["agent", "origin"]

PIECE: Final = 1 << 16
"""Bytes that inflating gives at once, at most."""

_TAIL = b"\x00\x00\xff\xff"  # section 7.2.1: the sender takes it off, the reader adds it again
_NAMES: Final[tuple[tuple[Sender, str], ...]] = (("agent", "client"), ("origin", "server"))
_WINDOWS: Final = {str(bits): bits for bits in range(8, 16)}


@dataclass(frozen=True, slots=True)
class Deflate:
    """What was agreed on: who begins every message anew, and each side's window (a power of 2)."""

    resets: frozenset[Sender]
    agent_window: int = 15
    origin_window: int = 15

    @classmethod
    def agreed(cls, extensions: str) -> Self | None:
        """From a reply's `Sec-WebSocket-Extensions` (section 7.1); None where it is not there."""
        for extension in extensions.split(","):
            name, *parameters = extension.split(";")
            if name.strip().lower() == "permessage-deflate":
                return cls._of(dict(_parameter(text) for text in parameters))
        return None

    @classmethod
    def _of(cls, parameters: dict[str, str]) -> Self:
        resets = (side for side, name in _NAMES if f"{name}_no_context_takeover" in parameters)
        agent, origin = (
            _WINDOWS.get(parameters.get(f"{name}_max_window_bits", ""), 15) for _, name in _NAMES
        )
        return cls(frozenset(resets), agent, origin)

    def window(self, sender: Sender) -> int:
        """The window of what one side sends, as a power of 2."""
        return self.agent_window if sender == "agent" else self.origin_window


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip().lower(), value.strip().strip('"')


class Inflater:
    """Undoes one side's compression, its context kept from message to message as agreed."""

    def __init__(self, *, resets: bool) -> None:
        self._resets = resets
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)  # it reads any smaller window too

    def inflate(self, data: bytes) -> Iterator[bytes]:
        """What some bytes of a message stand for. Raises `zlib.error` where they are damaged."""
        while data:
            yield self._stream.decompress(data, PIECE)
            data = self._stream.unconsumed_tail
            if self._stream.eof:
                # Section 7.2.3.4: a block may be marked as the last one and the data goes on.
                data = self._stream.unused_data
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)

    def end_message(self) -> Iterator[bytes]:
        """The rest of a message whose last byte has been given."""
        yield from self.inflate(_TAIL)
        while piece := self._stream.decompress(b"", PIECE):
            yield piece
        if self._resets:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)


class Deflater:
    """Compresses one side's messages, its context kept from message to message as agreed."""

    def __init__(self, window: int, *, resets: bool) -> None:
        self._window = window
        self._resets = resets
        self._stream = self._new()

    def deflate(self, part: bytes, *, last: bool) -> bytes:
        """A part of a message (section 7.2.1); nothing but the last part need give any bytes."""
        data = self._stream.compress(part)
        if not last:
            return data
        data += self._stream.flush(zlib.Z_SYNC_FLUSH)
        if self._resets:
            self._stream = self._new()
        return data.removesuffix(_TAIL)

    def _new(self) -> "zlib._Compress":
        return zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -self._window)
