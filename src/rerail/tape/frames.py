"""Zstandard frames that grow piece by piece: each piece sees all before it. Knows no storage.

A row holds one piece, ended by a flush, so it can be undone as soon as it is written. The pieces of
one frame, joined in order, are one ordinary Zstandard frame (RFC 8878) without an end.
"""

from collections import deque
from io import BytesIO
from typing import Final

import zstandard

from rerail.tape.form import WINDOW_LOG

_FRAME_DAMAGED: Final = "a compressed row is damaged"


class FrameError(ValueError):
    """A piece that cannot be undone: damaged, or not in its place."""


class FrameWriter:
    """Compresses pieces of one frame. `window_log`: how far back (2 to that power) a piece sees."""

    __slots__ = ("_stream", "content", "pieces", "window")

    def __init__(self, *, window_log: int, table_log: int, level: int) -> None:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            level,
            window_log=window_log,
            hash_log=table_log,
            chain_log=table_log,
            write_content_size=False,
        )
        self._stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        self.window = 1 << window_log
        self.pieces = 0
        self.content = 0

    def piece(self, content: bytes) -> bytes:
        """The next piece: `content`, compressed against all content before it."""
        self.pieces += 1
        self.content += len(content)
        stream = self._stream
        return stream.compress(content) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


class FrameReader:
    """Undoes the pieces of one frame, in order, and never gives more than it is asked for."""

    __slots__ = ("_pieces", "_reader")

    def __init__(self) -> None:
        self._pieces = _Pieces()
        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG)
        self._reader = decompressor.stream_reader(self._pieces, read_across_frames=False)

    def piece(self, data: bytes, size: int) -> bytes:
        """The `size` bytes of the next piece. Raises FrameError."""
        if not size:
            return b""
        self._pieces.give(data)
        try:
            content = self._reader.read(size)
        except zstandard.ZstdError as error:
            raise FrameError(_FRAME_DAMAGED) from error
        if len(content) != size:
            raise FrameError(_FRAME_DAMAGED)
        return content


class _Pieces(BytesIO):
    """A file of what has been given so far: the shape that the decompressor reads from."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[bytes] = deque()

    def give(self, data: bytes) -> None:
        self._waiting.append(data)

    def read(self, size: int | None = -1, /) -> bytes:
        if not self._waiting:
            return b""
        data = self._waiting.popleft()
        if size is not None and 0 <= size < len(data):
            self._waiting.appendleft(data[size:])
            data = data[:size]
        return data


def compressed(content: bytes, *, level: int) -> bytes:
    """`content` as a whole frame of its own."""
    return zstandard.ZstdCompressor(level=level).compress(content)
