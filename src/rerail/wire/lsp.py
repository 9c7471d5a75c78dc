"""Messages of JSON-RPC under `Content-Length` heads, as language servers speak it. Pure.

Cuts bytes into contents and frames them; what a content says is not known here.
"""

from typing import Final

LONGEST_HEAD: Final = 8 << 10
LONGEST_CONTENT: Final = 256 << 20
_END_OF_HEAD: Final = b"\r\n\r\n"


class NotFramed(ValueError):
    """What came is no message: the two sides are no longer in step, and nothing can be read."""


def framed(content: bytes) -> bytes:
    """One message, ready to be sent."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(content), content)


class Messages:
    """Cuts what comes in pieces into the contents of messages."""

    __slots__ = ("_length", "_rest")

    def __init__(self) -> None:
        self._rest = bytearray()
        self._length: int | None = None

    def feed(self, piece: bytes) -> list[bytes]:
        """The contents that are complete now. Raises `NotFramed`."""
        self._rest += piece
        found = []
        while (content := self._next()) is not None:
            found.append(content)
        return found

    @property
    def waiting(self) -> int:
        """How many bytes have come of a message that is not complete."""
        return len(self._rest)

    def _next(self) -> bytes | None:
        if self._length is None and not self._read_head():
            return None
        assert self._length is not None
        if len(self._rest) < self._length:
            return None
        content = bytes(self._rest[: self._length])
        del self._rest[: self._length]
        self._length = None
        return content

    def _read_head(self) -> bool:
        end = self._rest.find(_END_OF_HEAD, 0, LONGEST_HEAD)
        if end < 0:
            if len(self._rest) >= LONGEST_HEAD:
                raise NotFramed("a head without an end")
            return False
        self._length = _length(bytes(self._rest[:end]))
        del self._rest[: end + len(_END_OF_HEAD)]
        return True


def _length(head: bytes) -> int:
    """Heads are `Name: value` lines, their names in any case; only the length matters."""
    lengths = []
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            raise NotFramed(f"a head line without a colon: {line[:80]!r}")
        if name.strip().lower() == b"content-length":
            lengths.append(value.strip())
    if len(set(lengths)) != 1 or not lengths[0].isdigit():
        raise NotFramed(f"a head without one length: {head[:80]!r}")
    if len(lengths[0]) > len(str(LONGEST_CONTENT)) or int(lengths[0]) > LONGEST_CONTENT:
        raise NotFramed(f"a message of {lengths[0].decode()[:20]} bytes")
    return int(lengths[0])
