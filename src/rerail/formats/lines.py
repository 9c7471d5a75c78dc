"""A file's lines one after the other, packed with zstd or not; none is longer than is read.

What is in memory at a time is one line. Knows no JSON and no format.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple

import zstandard

LARGEST: Final = 1 << 30
LONGEST_LINE: Final = 64 << 20
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_MARK: Final = b"\xef\xbb\xbf"
_TOLD_EACH: Final = 1 << 12

Told = Callable[[int, int], None]
"""Is told how much of how much has been read."""


class TooLong(Exception):
    """There is more in the file than is read."""


class Line(NamedTuple):
    """A line, without its end, and its number. `raw` is None where it is longer than is read."""

    number: int
    raw: bytes | None


def beginning(path: Path) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as opened:
        return opened.read(8)


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """A file's content to be read, and how far the file was read for it."""
    packed = beginning(path).startswith(_ZSTD)
    with path.open("rb") as raw:
        if not packed:
            yield raw, raw.tell
            return
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        with io.BufferedReader(reader, 1 << 17) as content:
            yield content, raw.tell


def lines_of(path: Path, told: Told | None = None) -> Iterator[Line]:
    """The lines that are not empty. Raises TooLong, zstandard.ZstdError."""
    size = path.stat().st_size
    with unpacked(path) as (content, read):
        left, number = LARGEST, 0
        while line := content.readline(LONGEST_LINE + 1):
            number += 1
            left -= len(line)
            whole = len(line) <= LONGEST_LINE or line.endswith(b"\n")
            if not whole:
                left -= _pass_by(content, left)
            if left < 0:
                raise TooLong
            if number == 1:
                line = line.removeprefix(_MARK)
            if told is not None and not number % _TOLD_EACH:
                told(read(), size)
            if not whole or line.strip():
                yield Line(number, line if whole else None)


def _pass_by(content: IO[bytes], most: int) -> int:
    """Read on to the end of a line, or a little more than `most`; gives how much that was."""
    passed = 0
    while passed <= most and (piece := content.readline(1 << 20)):
        passed += len(piece)
        if piece.endswith(b"\n"):
            break
    return passed
