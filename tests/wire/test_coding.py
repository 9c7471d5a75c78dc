"""Content codings are undone, and whatever cannot be undone is None."""

import gzip
import time
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rerail.wire import coding as module
from rerail.wire.coding import Decoded, decode, decode_part

TEXT = b'{"messages": [{"role": "user", "content": "hello"}]}' * 200
RAW_DEFLATE = zlib.compressobj(wbits=-zlib.MAX_WBITS)
CODED = {
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "zstd": zstandard.compress(TEXT),
    "br": brotli.compress(TEXT),
}


@pytest.mark.parametrize("coding", CODED)
def test_each_coding_is_undone(coding: str) -> None:
    assert decode(CODED[coding], coding) == TEXT


@pytest.mark.parametrize("coding", CODED)
def test_a_cut_body_is_none(coding: str) -> None:
    assert decode(CODED[coding][:-9], coding) is None


@pytest.mark.parametrize("coding", CODED)
def test_bytes_that_are_no_such_coding_are_none(coding: str) -> None:
    assert decode(b"plain text, nothing else", coding) is None


@pytest.mark.parametrize("coding", CODED)
def test_a_body_that_grows_past_the_limit_is_none(coding: str) -> None:
    assert decode(CODED[coding], coding, limit=1000) is None


@pytest.mark.parametrize("coding", CODED)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.99])
def test_of_a_cut_body_there_is_what_had_come(coding: str, share: float) -> None:
    cut = CODED[coding][: max(1, int(len(CODED[coding]) * share))]
    part = decode_part(cut, coding)
    assert part.ended == "cut"
    assert TEXT.startswith(part.content)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd", "br"])
def test_a_stream_cut_between_its_flushes_gives_all_that_was_flushed(coding: str) -> None:
    first, rest = _flushed(coding)
    assert decode_part(first, coding) == Decoded(TEXT, "cut")
    assert decode_part(first + rest, coding) == Decoded(TEXT, "complete")


def _flushed(coding: str) -> tuple[bytes, bytes]:
    """A body whose sender flushed after the text, as servers of streams do."""
    if coding == "zstd":
        packer = zstandard.ZstdCompressor().compressobj()
        first = packer.compress(TEXT) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        return first, packer.flush()
    if coding == "br":
        writer = brotli.Compressor()
        return writer.process(TEXT) + writer.flush(), writer.finish()
    deflater = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    return deflater.compress(TEXT) + deflater.flush(zlib.Z_SYNC_FLUSH), deflater.flush()


@pytest.mark.parametrize("coding", CODED)
def test_of_a_body_too_large_there_is_its_beginning(coding: str) -> None:
    assert decode_part(CODED[coding], coding, limit=1000) == Decoded(TEXT[:1000], "too_large")
    assert decode_part(CODED[coding], coding, limit=len(TEXT)) == Decoded(TEXT)


@pytest.mark.parametrize("coding", CODED)
def test_an_empty_body_is_empty_whatever_its_head_says(coding: str) -> None:
    assert decode_part(b"", coding) == Decoded(b"")


@pytest.mark.parametrize("coding", CODED)
def test_damage_is_not_taken_for_a_cut(coding: str) -> None:
    assert decode_part(b"plain text, nothing else", coding).ended in ("damaged", "cut")
    assert decode_part(CODED[coding][:-9] + bytes(9), coding).ended in ("damaged", "cut")
    assert decode_part(b"\xff" * 40, coding).ended == "damaged"


def test_an_unknown_coding_leaves_what_was_left_to_undo() -> None:
    assert decode_part(gzip.compress(b"x"), "compress, gzip") == Decoded(b"x", "unknown")


@pytest.mark.parametrize("found", [None, "old"])
def test_without_a_bounded_brotli_its_coding_is_unknown(
    monkeypatch: pytest.MonkeyPatch, found: str | None
) -> None:
    class Old:
        class Decompressor:
            pass

    def import_module(name: str) -> type[Old]:
        if found is None:
            raise ImportError(name)
        return Old

    monkeypatch.setattr(module.importlib, "import_module", import_module)
    assert decode_part(CODED["br"], "br") == Decoded(CODED["br"], "unknown")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_a_bomb_is_left_at_the_limit(coding: str) -> None:
    content = bytes(64 << 20)
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "br": _quick_brotli}[coding](content)
    assert decode_part(packed, coding, limit=1 << 20) == Decoded(bytes(1 << 20), "too_large")


def _quick_brotli(content: bytes) -> bytes:
    return brotli.compress(content, quality=1)


def test_deflate_without_its_zlib_wrapper_is_undone() -> None:
    content = RAW_DEFLATE.compress(TEXT) + RAW_DEFLATE.flush()
    assert decode(content, "deflate") == TEXT


def test_several_codings_are_undone_from_the_last_to_the_first() -> None:
    assert decode(zstandard.compress(gzip.compress(TEXT)), "GZIP, zstd") == TEXT


def test_several_members_and_frames_are_one_content() -> None:
    assert decode(CODED["gzip"] * 2, "gzip") == TEXT * 2
    assert decode(CODED["zstd"] * 2, "zstd") == TEXT * 2


def test_zstd_without_a_content_size_is_undone() -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    assert decode(packer.compress(TEXT) + packer.flush(), "zstd") == TEXT


def test_a_small_body_that_stands_for_gigabytes_is_none() -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(256)) + packer.flush()
    assert decode(bomb, "zstd") is None


def test_no_coding_is_the_content_and_an_unknown_one_is_none() -> None:
    assert decode(TEXT, "") == TEXT
    assert decode(TEXT, "identity") == TEXT
    assert decode(TEXT, "compress") is None


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "zstd", "br"]))
def test_nothing_makes_it_raise(content: bytes, coding: str) -> None:
    decode(content, coding)


@pytest.mark.parametrize(
    ("coding", "member"), [("gzip", gzip.compress(b"")), ("zstd", zstandard.compress(b""))]
)
def test_very_many_members_take_no_time_for_those_behind_them(coding: str, member: bytes) -> None:
    began = time.process_time()
    assert decode(member * ((4 << 20) // len(member)), coding) == b""
    assert time.process_time() - began < 5
