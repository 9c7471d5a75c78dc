"""Content codings are undone, and whatever cannot be undone is None."""

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rerail.wire.coding import decode

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
