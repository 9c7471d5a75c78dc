"""The table of a body's chunks: how large each was and when it came. Pure bytes and numbers.

A chunk is what the sender sent at once, or what one read brought where the sender's boundaries
cannot be seen. The table is a sequence of unsigned LEB128 numbers: first the sizes of all chunks in
bytes, then for each the microseconds since the one before it (for the first: since the run began).
Sizes together and times together compress better than turn by turn.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

MERGE_NS: Final = 1_000_000
"""Reads closer together than this are one chunk where the sender's own boundaries are unknown."""

CHUNKS_MAX: Final = 1 << 20
"""Chunks a table keeps apart; what comes later is counted to the last one."""

_TABLE_SIZE: Final = 20 * CHUNKS_MAX
"""Bytes of the longest table: two numbers a chunk, ten bytes each at most."""


class Chunk(Struct, frozen=True, gc=False):
    """`size` in bytes; `at_ns`: nanoseconds since the run began, in whole microseconds."""

    size: int
    at_ns: int


class ChunkTable:
    """Builds a table while the chunks come."""

    __slots__ = ("_at", "_count", "_last", "_size", "_sizes", "_times")

    def __init__(self) -> None:
        self._sizes = bytearray()
        self._times = bytearray()
        self._last = 0
        self._size = 0
        self._at = 0
        self._count = 0

    @property
    def begun(self) -> bool:
        """Whether there is a chunk that more bytes could belong to."""
        return self._size > 0

    def add(self, size: int, at_ns: int, *, continues: bool = False) -> None:
        """Count `size` bytes that came at `at_ns`; `continues`: they belong to the last chunk."""
        if self._size and (continues or self._count >= CHUNKS_MAX):
            self._size += size
            return
        self._settle()
        self._size, self._at = size, at_ns
        self._count += 1

    def merges(self, at_ns: int) -> bool:
        """Whether a read at `at_ns` is too close to the last chunk's beginning to be told apart."""
        return self._size > 0 and at_ns - self._at < MERGE_NS

    def encoded(self) -> bytes:
        """The table of all chunks so far."""
        self._settle()
        return bytes(self._sizes + self._times)

    def _settle(self) -> None:
        if self._size:
            now = max(self._at // 1000, self._last)
            _write_number(self._sizes, self._size)
            _write_number(self._times, now - self._last)
            self._last, self._size = now, 0


def encode_chunks(pairs: Iterable[tuple[int, int]]) -> bytes:
    """The table of chunks given as (size in bytes, nanoseconds since the run began).

    Times are kept to the microsecond and never go back; a chunk of no bytes is left out.
    """
    table = ChunkTable()
    for size, at_ns in pairs:
        table.add(size, at_ns)
    return table.encoded()


def decode_chunks(table: bytes) -> list[Chunk]:
    """The chunks in `table`. Raises ValueError where it is torn."""
    numbers = _read_numbers(table)
    if len(numbers) % 2:
        raise ValueError("a chunk table with a size and no time")
    if len(numbers) > 2 * CHUNKS_MAX:
        raise ValueError("a chunk table longer than allowed")
    count = len(numbers) // 2
    chunks, microseconds = [], 0
    for size, pause in zip(numbers[:count], numbers[count:], strict=True):
        microseconds += pause
        chunks.append(Chunk(size, microseconds * 1000))
    return chunks


def _write_number(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _read_numbers(table: bytes) -> list[int]:
    numbers, number, shift = [], 0, 0
    if len(table) > _TABLE_SIZE:
        raise ValueError("a chunk table longer than allowed")
    for byte in table:
        number |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
            if shift > 63:
                raise ValueError("a number in a chunk table is too large")
        else:
            numbers.append(number)
            number = shift = 0
    if shift:
        raise ValueError("a chunk table that ends inside a number")
    return numbers
