"""The scanner finds where messages end, however the bytes are cut, and never refuses any."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.wire.http1 import (
    HEAD_LIMIT,
    LINES_LIMIT,
    Data,
    End,
    HeadSeen,
    Opaque,
    ReplyScanner,
    RequestScanner,
    Scanner,
    WireEvent,
    content_length,
    head_end,
    parse_head,
    request_line,
    status_line,
)

GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
    b"5\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 11\r\n\r\n"
)


def pieces(scanner: Scanner, data: bytes, size: int) -> list[WireEvent]:
    """Everything a scanner says when its input comes in pieces of one size."""
    events: list[WireEvent] = []
    for start in range(0, len(data), size):
        events.extend(scanner.feed(data[start : start + size]))
    return events


def body_of(events: list[WireEvent]) -> bytes:
    return b"".join(event.payload for event in events if isinstance(event, Data))


def chunks_of(events: list[WireEvent]) -> list[bytes]:
    """Payloads joined where the sender's chunk went on."""
    chunks: list[bytes] = []
    for event in events:
        if isinstance(event, Data) and event.continues:
            chunks[-1] += event.payload
        elif isinstance(event, Data):
            chunks.append(event.payload)
    return chunks


def test_a_request_without_a_length_has_no_body() -> None:
    head, end = RequestScanner().feed(GET)
    assert isinstance(head, HeadSeen) and head.framing == "none"
    assert end == End("none")


def test_pipelined_requests_are_told_one_after_the_other() -> None:
    events = RequestScanner().feed(POST + GET)
    assert [type(event) for event in events] == [HeadSeen, Data, End, HeadSeen, End]


def test_the_chunks_of_the_sender_are_kept_wherever_the_reads_fall() -> None:
    for size in range(1, len(CHUNKED) + 1):
        scanner = ReplyScanner()
        scanner.expect(b"GET")
        events = pieces(scanner, CHUNKED, size)
        assert chunks_of(events) == [b"hello", b" world"], size
        assert events[-1] == End("chunked", b"", b"X-Sum: 11\r\n"), size
        assert scanner.between_messages


def test_chunk_lines_of_another_form_are_kept_as_sent() -> None:
    reply = CHUNKED.replace(b"5\r\n", b"05;ext=1\r\n").replace(b"X-Sum: 11\r\n", b"")
    *_, end = ReplyScanner().feed(reply)
    assert end == End("chunked", b"05;ext=1\r\n6\r\n0\r\n", b"")


def test_a_reply_to_head_has_no_body_whatever_it_announces() -> None:
    scanner = ReplyScanner()
    scanner.expect(b"HEAD")
    scanner.expect(b"GET")
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nContent-Encoding: gzip\r\n\r\n"
    events = scanner.feed(head + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    assert [type(event) for event in events] == [HeadSeen, End, HeadSeen, Data, End]
    assert body_of(events) == b"ok"


def test_204_and_304_have_no_body() -> None:
    for status in (b"204 No Content", b"304 Not Modified"):
        events = ReplyScanner().feed(b"HTTP/1.1 " + status + b"\r\nContent-Length: 7\r\n\r\n")
        assert events[1] == End("none")


def test_interim_replies_stand_before_the_final_one() -> None:
    scanner = ReplyScanner()
    scanner.expect(b"POST")
    events = scanner.feed(
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + CHUNKED
    )
    assert [event.interim for event in events if isinstance(event, HeadSeen)] == [True, True, False]
    assert body_of(events) == b"hello world"


def test_a_reply_without_length_ends_with_the_connection() -> None:
    scanner = ReplyScanner()
    events = scanner.feed(b"HTTP/1.0 200 OK\r\n\r\nsome") + scanner.feed(b" text")
    events += scanner.end_of_stream()
    assert body_of(events) == b"some text"
    assert events[-1] == End("close")


def test_a_cut_body_ends_with_no_end() -> None:
    scanner = ReplyScanner()
    events = scanner.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntwenty bytes of these")
    assert not scanner.end_of_stream()
    assert not any(isinstance(event, End) for event in events)


def test_after_101_the_stream_is_opaque() -> None:
    scanner = ReplyScanner()
    scanner.expect(b"GET")
    events = scanner.feed(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x02hi"
    )
    assert isinstance(events[0], HeadSeen)
    assert events[1] == Opaque(b"\x81\x02hi", "")


def test_equal_lengths_are_one_length_and_different_ones_cannot_be_trusted() -> None:
    assert content_length(parse_head(b"A\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n")) == 5
    assert content_length(parse_head(b"A\r\nContent-Length: 5, 5\r\n\r\n")) == 5
    assert content_length(parse_head(b"A\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n")) == -1
    assert content_length(parse_head(b"A\r\nContent-Length: +5\r\n\r\n")) == -1


def test_chunked_wins_over_a_length() -> None:
    """RFC 9112 section 6.3, rule 3."""
    both = CHUNKED.replace(b"Trailer: X-Sum", b"Content-Length: 3")
    assert body_of(ReplyScanner().feed(both)) == b"hello world"


def test_bare_line_feeds_space_before_the_colon_and_folding_are_read() -> None:
    head = parse_head(b"GET /\xc3\xa9 x HTTP/1.1\nName : value\r\nFolded: a\r\n  b\r\n\r\n")
    assert head.headers == ((b"Name", b"value"), (b"Folded", b"a b"))
    assert request_line(head).target == b"/\xc3\xa9 x"
    assert head_end(b"GET / HTTP/1.1\n\n") == 16
    assert head_end(b"GET / HTTP/1.1\n\nbody\r\n\r\n") == 16


def test_status_lines_of_any_shape_are_read() -> None:
    assert status_line(parse_head(b"HTTP/1.1 200\r\n\r\n")).status == 200
    assert status_line(parse_head(b"HTTP/1.1 404 Not  Here\r\n\r\n")).reason == b"Not  Here"
    assert status_line(parse_head(b"HTTP/1.1 abc\r\n\r\n")).status == 0


def test_what_is_no_http_is_handed_on() -> None:
    (event,) = ReplyScanner().feed(b"SSH-2.0-OpenSSH\r\n\r\n\r\n")
    assert (
        isinstance(event, Opaque) and event.raw == b"SSH-2.0-OpenSSH\r\n\r\n\r\n"[: len(event.raw)]
    )
    scanner = ReplyScanner()
    events = scanner.feed(CHUNKED.replace(b"5\r\n", b"zz\r\n"))
    assert isinstance(events[-1], Opaque) and events[-1].why


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"5\r\nhello\r\n", b""),
        (b"5\r\nhel", b"5\r\n"),
        (b"05\r\nhello\r\n", b"05\r\n"),
        (b"5\r\nhello\r\nA;x=y\r\n0123", b"5\r\nA;x=y\r\n"),
    ],
)
def test_a_chunk_that_broke_off_keeps_the_size_it_should_have_had(
    body: bytes, lines: bytes
) -> None:
    scanner = ReplyScanner()
    scanner.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    assert scanner.lines_of_broken_chunks == lines


@given(
    data=st.binary(max_size=400), size=st.integers(1, 50), prefix=st.sampled_from([b"", GET, POST])
)
def test_no_byte_is_lost_or_changed_whatever_comes(data: bytes, size: int, prefix: bytes) -> None:
    whole = prefix + data
    for scanner in (RequestScanner(keep_raw=True), ReplyScanner(keep_raw=True)):
        events = pieces(scanner, whole, size)
        said = b"".join(event.raw for event in events)
        assert said + scanner.take_held() == whole


@given(
    bodies=st.lists(
        st.lists(st.binary(min_size=1, max_size=40), max_size=5), min_size=1, max_size=4
    ),
    size=st.integers(1, 60),
)
def test_any_chunked_replies_in_any_pieces_come_out_as_sent(
    bodies: list[list[bytes]], size: int
) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire = b"".join(
        head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in body) + b"0\r\n\r\n"
        for body in bodies
    )
    events = pieces(ReplyScanner(), wire, size)
    found: list[list[bytes]] = []
    for event in events:
        if isinstance(event, HeadSeen):
            found.append([])
        elif isinstance(event, Data) and event.continues:
            found[-1][-1] += event.payload
        elif isinstance(event, Data):
            found[-1].append(event.payload)
    assert found == bodies
    assert sum(isinstance(event, End) for event in events) == len(bodies)


def test_of_very_many_odd_chunk_lines_none_are_kept_and_no_byte_is_lost() -> None:
    scanner = ReplyScanner()
    scanner.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    extended = b"1;" + b"x" * 16_000 + b"\r\na\r\n"
    count = LINES_LIMIT // 16_000 + 2
    events = [event for _ in range(count) for event in scanner.feed(extended)]
    assert body_of(events) == b"a" * count
    assert scanner.lines_of_broken_chunks == b""
    assert scanner.feed(b"0\r\n\r\n")[-1] == End("chunked")
    scanner.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert scanner.feed(b"01\r\na\r\n0\r\n\r\n")[-1] == End("chunked", b"01\r\n0\r\n")


def test_empty_lines_without_an_end_are_not_waited_out() -> None:
    scanner = ReplyScanner()
    flood = b"\r\n" * (HEAD_LIMIT // 2)
    assert scanner.feed(flood) == []
    [opaque] = scanner.feed(b"\r\n")
    assert isinstance(opaque, Opaque)
    assert opaque.raw == flood + b"\r\n"
