"""The table of chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.tape import chunks
from rerail.tape.chunks import Chunk, ChunkTable, decode_chunks, encode_chunks

SIZES = st.integers(1, 1 << 40)
TIMES = st.integers(0, 1 << 62)


@given(st.lists(st.tuples(SIZES, TIMES)))
def test_sizes_come_back_exactly_and_times_to_the_microsecond(pairs: list[tuple[int, int]]) -> None:
    pairs = [(size, at) for (size, _), at in zip(pairs, sorted(at for _, at in pairs), strict=True)]
    expected = [Chunk(size, at // 1000 * 1000) for size, at in pairs]
    assert decode_chunks(encode_chunks(pairs)) == expected


@given(st.lists(st.tuples(SIZES, TIMES)))
def test_times_never_go_back(pairs: list[tuple[int, int]]) -> None:
    times = [chunk.at_ns for chunk in decode_chunks(encode_chunks(pairs))]
    assert times == sorted(times)


def test_a_table_byte_by_byte() -> None:
    table = bytes([0xAC, 0x02, 0x07, 0x05, 0x80, 0x01])
    assert encode_chunks([(300, 5_000), (7, 133_999)]) == table


def test_a_chunk_of_no_bytes_is_left_out() -> None:
    assert encode_chunks([(0, 5), (3, 7_000)]) == encode_chunks([(3, 7_000)])


def test_bytes_that_continue_a_chunk_are_counted_to_it() -> None:
    table = ChunkTable()
    table.add(10, 1_000_000)
    table.add(5, 9_000_000, continues=True)
    assert decode_chunks(table.encoded()) == [Chunk(15, 1_000_000)]


def test_reads_within_a_millisecond_of_the_chunks_beginning_merge() -> None:
    table = ChunkTable()
    assert not table.merges(0)
    table.add(10, 1_000_000)
    assert table.merges(1_999_999)
    assert not table.merges(2_000_000)


def test_behind_a_million_chunks_the_last_one_takes_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert chunks.CHUNKS_MAX == 1 << 20
    monkeypatch.setattr(chunks, "CHUNKS_MAX", 100)
    table = ChunkTable()
    for _ in range(110):
        table.add(2, 0)
    found = decode_chunks(table.encoded())
    assert len(found) == 100
    assert found[-1].size == 22


@given(st.binary(max_size=60))
def test_any_bytes_are_a_table_or_a_value_error(table: bytes) -> None:
    try:
        found = decode_chunks(table)
    except ValueError:
        return
    assert all(chunk.size >= 0 for chunk in found)


@pytest.mark.parametrize("table", [b"\x05", b"\x05\x80", b"\xff" * 12])
def test_a_torn_table_is_refused(table: bytes) -> None:
    with pytest.raises(ValueError, match="chunk table"):
        decode_chunks(table)


@pytest.mark.parametrize("table", [b"\x01" * (2 * chunks.CHUNKS_MAX + 2), b"\x80" * (21 << 20)])
def test_a_table_of_more_chunks_than_any_writer_keeps_apart_is_refused(table: bytes) -> None:
    with pytest.raises(ValueError, match="longer than allowed"):
        decode_chunks(table)
