"""Content codings undone (RFC 9110 section 8.4.1): the bytes sent in, what they stand for out.

A coding nobody knows, a damaged body and a body that would grow past the limit give None: what is
on the wire is never refused for that, it is just not looked into.
"""

import importlib
import zlib
from collections.abc import Callable
from typing import Final

import zstandard

DECODED_LIMIT: Final = 64 << 20
_PIECE: Final = 1 << 10
"""Compressed bytes undone before the result is measured: 1 KiB of zstd is at most 32 MiB."""


class _TooLarge(Exception):
    pass


def decode(content: bytes, codings: str, *, limit: int = DECODED_LIMIT) -> bytes | None:
    """The content behind a `Content-Encoding` value, or None where it cannot be had.

    `codings` is a comma-separated list in the order in which they were applied; `limit` is the
    largest result in bytes, for every step.
    """
    names = [name.strip().lower() for name in codings.split(",") if name.strip()]
    try:
        for name in reversed(names):
            content = _DECODERS[name](content, limit)
    except (KeyError, _TooLarge, zlib.error, zstandard.ZstdError, ValueError, ImportError):
        return None
    return content


def _identity(content: bytes, limit: int) -> bytes:
    return content


def _gzip(content: bytes, limit: int) -> bytes:
    """RFC 1952 allows several members after each other."""
    parts: list[bytes] = []
    while content:
        inflate = zlib.decompressobj(31)
        parts.append(inflate.decompress(content, limit))
        if inflate.unconsumed_tail:
            raise _TooLarge
        if not inflate.eof:
            raise ValueError("a gzip member without its end")
        limit -= len(parts[-1])
        content = inflate.unused_data
    return b"".join(parts)


def _deflate(content: bytes, limit: int) -> bytes:
    """RFC 9110 section 8.4.1.2 means zlib; some senders leave the zlib wrapper off."""
    try:
        return _inflate(content, limit, zlib.MAX_WBITS)
    except zlib.error:
        return _inflate(content, limit, -zlib.MAX_WBITS)


def _inflate(content: bytes, limit: int, window: int) -> bytes:
    inflate = zlib.decompressobj(window)
    decoded = inflate.decompress(content, limit)
    if inflate.unconsumed_tail:
        raise _TooLarge
    if not inflate.eof:
        raise ValueError("a deflated body without its end")
    return decoded


def _zstd(content: bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    while content:
        frame = zstandard.ZstdDecompressor().decompressobj()
        for start in range(0, len(content), _PIECE):
            parts.append(frame.decompress(content[start : start + _PIECE]))
            total += len(parts[-1])
            if total > limit:
                raise _TooLarge
            if frame.eof:
                content = frame.unused_data + content[start + _PIECE :]
                break
        else:
            raise ValueError("a zstd frame without its end")
    return b"".join(parts)


def _brotli(content: bytes, limit: int) -> bytes:
    """The one coding without a decoder among rerail's own dependencies: used where installed."""
    brotli = importlib.import_module("brotli")
    decoder = brotli.Decompressor()
    parts: list[bytes] = []
    total = 0
    for start in range(0, len(content), _PIECE):
        try:
            parts.append(decoder.process(content[start : start + _PIECE]))
        except brotli.error as error:
            raise ValueError("a damaged brotli stream") from error
        total += len(parts[-1])
        if total > limit:
            raise _TooLarge
    if not decoder.is_finished():
        raise ValueError("a brotli stream without its end")
    return b"".join(parts)


_DECODERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
