"""Frames that grow piece by piece."""

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rerail.tape.frames import (
    NOTHING,
    FrameError,
    FrameReader,
    FrameWriter,
    compressed,
    undo,
)

PIECES = st.lists(st.binary(min_size=1, max_size=300) | st.just(b"again and again " * 40))


@given(PIECES)
def test_each_piece_can_be_read_as_soon_as_it_is_written(pieces: list[bytes]) -> None:
    writer, reader = FrameWriter(18), FrameReader()
    for piece in pieces:
        reader.give(writer.piece(piece))
        assert reader.read(len(piece)) == piece


@given(st.lists(PIECES | st.lists(st.just(bytes(100_000) + b"end"), max_size=4)))
def test_a_piece_of_several_rows_is_read_row_by_row(batches: list[list[bytes]]) -> None:
    writer, reader, frame = FrameWriter(18), FrameReader(), b""
    for rows in batches:
        data = writer.piece(b"".join(rows), rows=len(rows)) if rows else b""
        for row in rows:
            reader.give(data)
            frame += data
            assert reader.read(len(row)) == row
            data = NOTHING
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(frame)
    assert whole == b"".join(row for rows in batches for row in rows)
    assert writer.rows == sum(map(len, batches))


@given(PIECES)
def test_the_pieces_joined_are_an_ordinary_frame(pieces: list[bytes]) -> None:
    writer = FrameWriter(18)
    frame = b"".join(writer.piece(piece) for piece in pieces)
    assert zstandard.ZstdDecompressor().decompressobj().decompress(frame) == b"".join(pieces)


@given(PIECES)
def test_a_packed_frame_reads_as_its_pieces_did(pieces: list[bytes]) -> None:
    writer = FrameWriter(18)
    grown = sum(len(writer.piece(piece)) for piece in pieces)
    for well in (False, True):
        packed = writer.packed(well=well)
        if packed is None:
            continue
        assert len(packed) < grown
        reader = FrameReader()
        reader.give(packed)
        assert [reader.read(len(piece)) for piece in pieces] == pieces


def test_what_repeats_costs_little() -> None:
    writer = FrameWriter(18)
    first = bytes(range(256)) * 8
    writer.piece(first)
    assert len(writer.piece(first)) < 30


def test_large_pieces_pass() -> None:
    writer, reader = FrameWriter(20), FrameReader()
    large = b"".join(number.to_bytes(4, "big") for number in range(1 << 19))
    for piece in (b"x", large, b"y" * 1_000_000):
        reader.give(writer.piece(piece))
        assert reader.read(len(piece)) == piece


def test_a_frame_with_too_much_content_is_not_packed() -> None:
    writer = FrameWriter(18)
    for _ in range(5):
        writer.piece(bytes(1 << 20))
    assert writer.packed() is None


@given(st.binary(max_size=100), st.integers(0, 1000))
def test_any_bytes_give_that_many_bytes_or_a_frame_error(data: bytes, size: int) -> None:
    try:
        assert len(undo(data, size)) == size
    except FrameError as error:
        assert str(error) == "a compressed row is damaged"


def test_a_bomb_gives_no_more_than_it_is_asked_for() -> None:
    bomb = compressed(bytes(200 << 20))
    assert len(bomb) < 20_000
    assert undo(bomb, 1000) == bytes(1000)


def test_a_window_larger_than_allowed_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    frame = compressor.compress(bytes(1000)) + compressor.flush()
    with pytest.raises(FrameError):
        undo(frame, 1000)


def test_a_missing_piece_is_noticed() -> None:
    writer, reader = FrameWriter(18), FrameReader()
    pieces = [writer.piece(b"one piece" * 9), writer.piece(b"another" * 9)]
    reader.give(pieces[1])
    with pytest.raises(FrameError):
        reader.read(63)
