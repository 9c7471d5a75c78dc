"""Members of a zip archive, unpacked within a limit, whichever way they are packed.

Newer programs pack with zstd, which Python's own reader knows from 3.14 on. A size that a member
claims is not believed. Knows no format of what is in it.
"""

import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, Final, Protocol, cast

import zstandard

_ZSTD: Final = 93
_ENCRYPTED: Final = 0x1
_LOCAL_HEADER: Final = 30
_NAMES: Final = struct.Struct("<26xHH")
_PIECE: Final = 1 << 20

BROKEN: Final = (
    zipfile.BadZipFile,
    zlib.error,
    zstandard.ZstdError,
    NotImplementedError,
    EOFError,
    struct.error,
)
"""What reading a broken archive raises."""


class _Reader(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class TooLarge(Exception):
    """A member unpacks to more than the limit."""


def is_encrypted(member: zipfile.ZipInfo) -> bool:
    """Whether a password is needed."""
    return bool(member.flag_bits & _ENCRYPTED)


def content(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, largest: int) -> bytes:
    """A member's content. Raises TooLarge, and what `BROKEN` lists."""
    if member.compress_type == _ZSTD:
        with path.open("rb") as raw:
            packed = cast("IO[bytes]", _Packed(raw, member))
            found = _within(zstandard.ZstdDecompressor().stream_reader(packed), largest)
        if zlib.crc32(found) != member.CRC:
            raise zipfile.BadZipFile(f"{member.filename} is not what was packed")
        return found
    with archive.open(member) as reader:
        return _within(reader, largest)


def _within(reader: _Reader, largest: int) -> bytes:
    pieces, size = [], 0
    while piece := reader.read(_PIECE):
        size += len(piece)
        if size > largest:
            raise TooLarge
        pieces.append(piece)
    return b"".join(pieces)


class _Packed:
    """A member's bytes as they are packed; they stand behind a header of their own."""

    def __init__(self, raw: IO[bytes], member: zipfile.ZipInfo) -> None:
        raw.seek(member.header_offset)
        name, extra = _NAMES.unpack(raw.read(_LOCAL_HEADER))
        raw.seek(name + extra, 1)
        self._raw, self._left = raw, member.compress_size

    def read(self, size: int = -1) -> bytes:
        """The next of them."""
        piece = self._raw.read(min(size if size >= 0 else self._left, self._left))
        self._left -= len(piece)
        return piece
