"""Server-sent events, by the examples of the standard and however the stream is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.wire.sse import ServerSentEvent, SseParser, events


def read(body: bytes) -> list[tuple[str, str, str]]:
    return [(event.name, event.data, event.last_id) for event in events(body)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The examples of section 9.2.6.
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10", "")]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\n"
            b"data:second event\nid\n\ndata:  third event\n\n",
            [
                ("message", "first event", "1"),
                ("message", "second event", ""),
                ("message", " third event", ""),
            ],
        ),
        (
            b"data\n\ndata\ndata\n\ndata:",
            [("message", "", ""), ("message", "\n", ""), ("message", "", "")],
        ),
        (b"data:test\n\ndata: test\n\n", [("message", "test", ""), ("message", "test", "")]),
        # What model servers send.
        (
            b'event: message_start\ndata: {"a": "b: c"}\n\ndata: [DONE]\n\n',
            [("message_start", '{"a": "b: c"}', ""), ("message", "[DONE]", "")],
        ),
        (b"event: ping\n\ndata: x\n\n", [("message", "x", "")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a", "")]),
        (b"data: a\r\rdata: b\r\n\r\ndata: c\n\r\n", [("message", x, "") for x in "abc"]),
        (b"data: \xff\xc3\xbc\n\n", [("message", "�ü", "")]),
        (
            b"id: a\0b\ndata: x\n\nid: 7\n\ndata: y\n\n",
            [("message", "x", ""), ("message", "y", "7")],
        ),
        (b"unknown: x\n data: y\n\n", []),
        (b"", []),
    ],
)
def test_a_stream_is_read_as_the_standard_says(
    body: bytes, expected: list[tuple[str, str, str]]
) -> None:
    assert read(body) == expected


def test_a_retry_is_a_number_of_milliseconds_or_nothing() -> None:
    values = [b"10", b"x", b"-1", b"\xc2\xb2", b"9" * 5000]
    body = b"".join(b"retry: %s\ndata\n\n" % value for value in values)
    assert [event.retry for event in events(body)] == [10, None, None, None, None]


@pytest.mark.parametrize("tail", [b"data: b", b"data: b\n", b"data: b\r", b"data: b\r\n"])
def test_an_event_cut_by_the_end_is_told_as_incomplete(tail: bytes) -> None:
    whole, cut = events(b"data: a\n\n" + tail)
    assert (whole.complete, cut.complete) == (True, False)
    assert cut == ServerSentEvent("b", "message", "", None, 9, 9 + len(tail), False)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_says_where_its_bytes_are(end: bytes) -> None:
    blocks = [b"event: a" + end + b"data: 1" + end * 2, b":comment" + end, b"data: 2" + end * 2]
    first, second = events(b"".join(blocks))
    assert (first.start, first.end) == (0, len(blocks[0]))
    assert (second.start, second.end) == (len(blocks[0]), len(b"".join(blocks)))
    assert first.complete
    assert second.complete


@given(
    st.lists(
        st.sampled_from(
            [
                b"data: x",
                b"data",
                b"event: e",
                b"id: 1",
                b"\n",
                b"\r\n",
                b"\r",
                b"\n\n",
                b": c",
                b"\xc3",
                b"\xbc",
            ]
        ),
        max_size=30,
    ),
    st.integers(1, 7),
)
def test_the_cuts_of_the_stream_do_not_matter(parts: list[bytes], step: int) -> None:
    body = b"".join(parts)
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    assert list(events(pieces)) == list(events(body))


@given(st.binary(max_size=200))
def test_any_bytes_are_read(body: bytes) -> None:
    for event in events(body):
        assert 0 <= event.start <= event.end <= len(body)


def test_an_event_is_given_as_soon_as_its_last_byte_is_there() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\n") == []
    assert [event.data for event in parser.feed(b"\n")] == ["a"]


def test_one_long_line_in_many_pieces_takes_no_quadratic_time() -> None:
    pieces = [b"data: ", *[b"x" * 100] * 20_000, b"\n\n"]
    (event,) = events(pieces)
    assert len(event.data) == 2_000_000
