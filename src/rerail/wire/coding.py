"""Content codings undone (RFC 9110 section 8.4.1): the bytes sent in, what they stand for out.

What is on the wire is never refused: a cut body gives what had come of it, and a coding nobody
knows, a damaged body or one that would grow past the limit says so and is not looked into further.
Bodies are given whole; nothing here is fast enough, or meant, to stand in the way of traffic.
"""

import importlib
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import zstandard

DECODED_LIMIT: Final = 64 << 20
_PIECE: Final = 1 << 10
"""Compressed bytes undone before the result is measured: 1 KiB of zstd is at most 32 MiB."""
_GIVEN: Final = 1 << 14
_OUTPUT: Final = 1 << 20
"""Bytes that the other codings give at once, at most."""

Ended = Literal["complete", "cut", "damaged", "too_large", "unknown"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a coded body stands for, as far as it could be told, and why not further.

    `cut`: the body ended before its coding did. `damaged`: it is no such coding from some byte on.
    `too_large`: `content` is the beginning, as long as the limit. `unknown`: there is no decoder
    here for one of the codings; `content` is what was left to undo.
    """

    content: bytes
    ended: Ended = "complete"


def decode(content: bytes, codings: str, *, limit: int = DECODED_LIMIT) -> bytes | None:
    """The whole content behind a `Content-Encoding` value, or None where it cannot be had."""
    decoded = decode_part(content, codings, limit=limit)
    return decoded.content if decoded.ended == "complete" else None


def decode_part(content: bytes, codings: str, *, limit: int = DECODED_LIMIT) -> Decoded:
    """As much of the content behind a `Content-Encoding` value as can be had.

    `codings` is a comma-separated list in the order in which they were applied; `limit` is the
    largest result in bytes, for every step.
    """
    names = [name.strip().lower() for name in codings.split(",") if name.strip()]
    ended: Ended = "complete"
    for name in reversed(names):
        decoder = _DECODERS.get(name)
        if decoder is None:
            return Decoded(content, "unknown")
        try:
            step = _collected(decoder(content), limit)
        except ImportError:
            return Decoded(content, "unknown")
        content = step.content
        ended = step.ended if ended == "complete" else ended  # the outermost fault is the cause
    return Decoded(content, ended)


class _Cut(Exception):
    """The coded bytes end before the coding does."""


def _collected(pieces: Iterable[bytes], limit: int) -> Decoded:
    parts: list[bytes] = []
    room = limit
    ended: Ended = "complete"
    try:
        for piece in pieces:
            parts.append(piece[:room])
            room -= len(piece)
            if room < 0:
                ended = "too_large"
                break
    except _Cut:
        ended = "cut"
    except (zlib.error, zstandard.ZstdError, ValueError):
        ended = "damaged"
    return Decoded(b"".join(parts), ended)


def _identity(content: bytes) -> Iterator[bytes]:
    yield content


def _gzip(content: bytes) -> Iterator[bytes]:
    """RFC 1952 section 2.2 allows several members after each other."""
    at = 0
    while at < len(content):
        at = yield from _inflated(content, at, zlib.MAX_WBITS | 16)


def _deflate(content: bytes) -> Iterator[bytes]:
    """RFC 9110 section 8.4.1.2 means zlib; some senders leave the zlib wrapper off."""
    window = zlib.MAX_WBITS if _is_zlib(content) else -zlib.MAX_WBITS
    if not content:
        return
    end = yield from _inflated(content, 0, window)
    if end < len(content):
        raise ValueError("bytes after the end of a deflated body")


def _is_zlib(content: bytes) -> bool:
    """RFC 1950 section 2.2: the method is 8, and the first two bytes are a multiple of 31."""
    return len(content) > 1 and content[0] & 15 == 8 and int.from_bytes(content[:2]) % 31 == 0


def _inflated(content: bytes, at: int, window: int) -> Generator[bytes, None, int]:
    """The zlib stream that begins at a place, in pieces of bounded size; returns where it ends.

    It is given little by little: what lies behind a stream is copied, and there may be many.
    """
    stream = zlib.decompressobj(window)
    given = b""
    while True:
        if not given:
            given = content[at : at + _GIVEN]
            at += len(given)
        piece = stream.decompress(given, _OUTPUT)
        yield piece
        if stream.eof:
            return at - len(stream.unused_data)
        given = stream.unconsumed_tail
        if not given and at >= len(content) and len(piece) < _OUTPUT:
            raise _Cut


def _zstd(content: bytes) -> Iterator[bytes]:
    """RFC 8878 section 3.1 allows several frames after each other."""
    at, decompressor = 0, zstandard.ZstdDecompressor()
    while at < len(content):
        frame = decompressor.decompressobj()
        while not frame.eof:
            given = content[at : at + _PIECE]
            if not given:
                raise _Cut
            yield frame.decompress(given)
            at += len(given)
        at -= len(frame.unused_data)


def _brotli(content: bytes) -> Iterator[bytes]:
    """The one coding without a decoder among rerail's own dependencies: used where installed.

    Before brotli 1.2 its output could not be bounded: such a one counts as not installed.
    """
    if not content:
        return
    brotli = importlib.import_module("brotli")
    stream = brotli.Decompressor()
    if not hasattr(stream, "can_accept_more_data"):
        raise ImportError("brotli 1.2 or newer is needed")
    try:
        yield stream.process(content, output_buffer_limit=_OUTPUT)
        while not stream.is_finished():
            piece = stream.process(b"", output_buffer_limit=_OUTPUT)
            if not piece:
                raise _Cut
            yield piece
    except brotli.error as error:
        raise ValueError("a damaged brotli stream") from error


_DECODERS: Final[dict[str, Callable[[bytes], Iterator[bytes]]]] = {
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
