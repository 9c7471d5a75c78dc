"""JSON-RPC 2.0 in lines, as MCP servers speak it over standard input and output. Pure.

Cuts bytes into lines and says what kind of message one is; changes nothing.
"""

from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

LONGEST_FIRST_LINE: Final = 1 << 20


class Envelope(Struct, frozen=True):
    """What tells a message's kind: a request has a method and an id, a notification no id."""

    jsonrpc: str
    method: str | UnsetType = UNSET
    id: int | float | str | UnsetType | None = UNSET


_DECODER: Final = msgspec.json.Decoder(Envelope)


def envelope(line: bytes) -> Envelope | None:
    """What a line is, or None for one that is no JSON-RPC."""
    try:
        found = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found if found.jsonrpc == "2.0" else None


class Lines:
    """Cuts what comes in pieces into lines, their ends included."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that are complete now."""
        self._rest += piece
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest[:] = rest
        return [line + b"\n" for line in lines]

    @property
    def waiting(self) -> int:
        """How many bytes of a line have come whose end has not."""
        return len(self._rest)

    def end(self) -> bytes:
        """The rest, which has no line end."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest
