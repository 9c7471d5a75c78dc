"""Zstandard frames that grow piece by piece: each piece sees all before it. Knows no storage.

A piece ends with a flush, so it can be undone as soon as it is written. The pieces of a frame,
joined in order, are one ordinary Zstandard frame (RFC 8878), though without an end while it grows.
Once it grows no more, the same content can be packed as a whole, which is smaller.
"""

from collections import deque
from io import BytesIO
from typing import Final, Literal

import zstandard

from rerail.tape.form import WINDOW_LOG

_DAMAGED: Final = "a compressed row is damaged"
_LARGEST_TABLE_LOG: Final = 17
_BLOCK: Final = 128 << 10
_PACKED_AT_MOST: Final = 4 << 20

_PACKED_WELL_AT_MOST: Final = 256 << 10

NOTHING: Final = bytes(3)
"""An empty block (RFC 8878 section 3.1.1.2): for a row whose content is in the row before it.

With no bytes at all from that row, a decompressor would not give what it still holds.
"""

Level = Literal["fast", "growing", "packed", "packed better", "packed well"]
_LEVELS: Final[dict[Level, int]] = {
    "fast": 1,
    "growing": 3,
    "packed": 6,
    "packed better": 9,
    "packed well": 15,
}


class FrameError(ValueError):
    """A piece that cannot be undone: damaged, or not in its place."""


class FrameWriter:
    """A frame that grows. `window_log`: how far back (2 to that power, in bytes) a piece sees.

    `memory` is about how many bytes it takes beside the content that it keeps.
    """

    __slots__ = ("_contents", "_stream", "_written", "content", "memory", "rows", "window")

    def __init__(self, window_log: int) -> None:
        table_log = min(window_log - 2, _LARGEST_TABLE_LOG)
        self.window = 1 << window_log
        self.memory = self.window + 2 * _BLOCK + (8 << table_log)
        parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVELS["growing"],
            window_log=window_log,
            hash_log=table_log,
            chain_log=table_log,
            write_content_size=False,
        )
        self._stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        self._contents: list[bytes] = []
        self._written = 0
        self.rows = 0
        self.content = 0

    def piece(self, content: bytes, *, rows: int = 1) -> bytes:
        """The next piece: `content`, that of so many rows, compressed against all before it."""
        self.rows += rows
        self.content += len(content)
        if self.content > _PACKED_AT_MOST:
            self._contents.clear()
        else:
            self._contents.append(content)
        data = self._stream.compress(content)
        data += self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        self._written += len(data)
        return data

    def packed(self, *, well: bool = False) -> bytes | None:
        """The whole frame anew, smaller than its pieces are together; None if it cannot be.

        `well` takes more time and gives a twentieth less. The best level is for small frames: it is
        very slow where long stretches repeat.
        """
        if self.rows < 2 or not self._contents:
            return None
        level: Level = "packed"
        if well:
            small = self.content <= _PACKED_WELL_AT_MOST
            level = "packed well" if small else "packed better"
        data = compressed(b"".join(self._contents), level)
        return data if len(data) < self._written else None


class FrameReader:
    """Undoes a frame from its beginning on, and never gives more than it is asked for."""

    __slots__ = ("_data", "_reader")

    def __init__(self) -> None:
        self._data = _Given()
        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG)
        self._reader = decompressor.stream_reader(self._data, read_across_frames=False)

    def give(self, data: bytes) -> None:
        """More of the frame's bytes."""
        self._data.give(data)

    def read(self, size: int) -> bytes:
        """The next `size` bytes of content. Raises FrameError where that many are not there."""
        try:
            content = self._reader.read(size) if size else b""
        except zstandard.ZstdError as error:
            raise FrameError(_DAMAGED) from error
        if len(content) != size:
            raise FrameError(_DAMAGED)
        return content


class _Given(BytesIO):
    """A file of what has been given so far: the shape that the decompressor reads from."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[bytes] = deque()

    def give(self, data: bytes) -> None:
        if data:
            self._waiting.append(data)

    def read(self, size: int | None = -1, /) -> bytes:
        if not self._waiting:
            return b""
        data = self._waiting.popleft()
        if size is not None and 0 <= size < len(data):
            self._waiting.appendleft(data[size:])
            data = data[:size]
        return data


def compressed(content: bytes, level: Level = "growing") -> bytes:
    """`content` as a whole frame of its own."""
    return zstandard.ZstdCompressor(level=_LEVELS[level]).compress(content)


def undo(data: bytes, size: int) -> bytes:
    """The `size` bytes of content that a frame holds. Raises FrameError."""
    reader = FrameReader()
    reader.give(data)
    return reader.read(size)
