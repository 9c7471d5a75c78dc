"""What is sent for a recorded request: the bytes of the origin."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.playback.plan import Plan, _cut
from rerail.playback.script import Script
from rerail.tape.chunks import Chunk
from rerail.tape.records import BodyEnd, Framing, HttpReplyHead

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def plan_of(maker: Any, number: int = 1) -> Plan:
    return Script(maker.finish()).plan(number)


def sent(plan: Plan, **options: int) -> bytes:
    return b"".join(piece.data for piece in plan.pieces(**options))


def test_a_reply_with_a_length_is_the_head_and_the_bytes(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    head = b"HTTP/1.0 200 Fine\r\nX-Odd:  two\r\nx-odd: three\r\nContent-Length: 6\r\n\r\n"
    maker.reply([b"abc", b"def"], head=head)
    plan = plan_of(maker)
    assert sent(plan) == head + b"abcdef"
    assert [piece.data for piece in plan.pieces()][1:] == [b"abc", b"def"]
    assert (plan.framing, plan.ended, plan.status) == ("length", "complete", 200)


def test_chunks_come_back_with_their_boundaries_and_times(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply([b"data: 1\n\n", b"data: 22\n\n"], head=CHUNKED, framing="chunked")
    plan = plan_of(maker)
    pieces = list(plan.pieces())
    assert [piece.data for piece in pieces] == [
        CHUNKED,
        b"9\r\ndata: 1\n\n\r\n",
        b"a\r\ndata: 22\n\n\r\n",
        b"0\r\n\r\n",
    ]
    times = [piece.at for piece in pieces]
    assert times == sorted(times)
    assert times[2] - times[1] == 1_000_000
    assert plan.requested_at < times[0]


@pytest.mark.parametrize(
    ("asked", "replied", "closes"),
    [
        ("", "", False),
        ("Connection: close\r\n", "", True),
        ("", "Connection: Keep-Alive, Close\r\n", True),
    ],
)
def test_a_connection_ends_with_the_reply_where_either_side_said_so(
    tape_maker: Callable[[], Any], asked: str, replied: str, closes: bool
) -> None:
    maker = tape_maker()
    maker.request({"a": 1}, headers=asked)
    maker.reply([b"{}"], head=f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{replied}\r\n".encode())
    assert plan_of(maker).closes is closes


def test_an_old_reply_ends_its_connection(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply([b"{}"], head=b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n")
    assert plan_of(maker).closes


def test_odd_chunk_lines_and_trailers_come_back_as_sent(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply(
        [b"abc", b"0123456789"],
        head=CHUNKED,
        framing="chunked",
        chunk_lines=b"003;x=y\r\nA\r\n000\r\n",
        trailers=b"Checksum: 7\r\n",
    )
    assert sent(plan_of(maker)) == (
        CHUNKED + b"003;x=y\r\nabc\r\nA\r\n0123456789\r\n000\r\nChecksum: 7\r\n\r\n"
    )


def test_a_body_that_broke_off_inside_a_chunk_does_so_again(
    tape_maker: Callable[[], Any],
) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply(
        [b"abc", b"de"],
        head=CHUNKED,
        framing="close",
        ended="cut",
        chunk_lines=b"3\r\n5\r\n",
    )
    assert sent(plan_of(maker)) == CHUNKED + b"3\r\nabc\r\n5\r\nde"


def test_an_empty_chunked_body_keeps_its_last_chunk(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply([], head=CHUNKED, framing="chunked")
    assert sent(plan_of(maker)) == CHUNKED + b"0\r\n\r\n"


def test_a_cut_reply_ends_where_it_was_cut(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply([b"abc", b"de"], head=CHUNKED, framing="close", ended="reset")
    plan = plan_of(maker)
    assert plan.ended == "reset"
    assert sent(plan) == CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n"


def test_a_body_to_the_end_of_the_connection_has_no_framing(
    tape_maker: Callable[[], Any],
) -> None:
    maker = tape_maker()
    maker.request(method="GET")
    maker.reply([b"all of it"], head=b"HTTP/1.0 200 OK\r\n\r\n", framing="close")
    plan = plan_of(maker)
    assert (plan.framing, sent(plan)) == ("close", b"HTTP/1.0 200 OK\r\n\r\nall of it")


@pytest.mark.parametrize(
    ("method", "head"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_replies_without_a_body_are_the_head_alone(
    tape_maker: Callable[[], Any], method: str, head: bytes
) -> None:
    maker = tape_maker()
    maker.request(method=method)
    maker.reply([], head=head)
    assert sent(plan_of(maker)) == head


def test_interim_heads_come_first_unless_they_were_sent(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    interim = [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"]
    maker.reply(interim=interim)
    plan = plan_of(maker)
    assert sent(plan).startswith(interim[0] + interim[1] + b"HTTP/1.1 200 OK")
    assert sent(plan, interim_sent=1).startswith(interim[1] + b"HTTP/1.1 200 OK")


def test_a_small_reply_is_one_piece_when_it_was_complete(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
    maker.reply([b"abc", b"def"], head=head, interim=[b"HTTP/1.1 103 Early Hints\r\n\r\n"])
    plan = plan_of(maker)
    (whole,), (rest,) = plan.writes(), plan.writes(1)
    assert whole.data == sent(plan)
    assert rest.data == head + b"abcdef"
    assert whole.at == plan.ended_at >= max(piece.at for piece in plan.pieces())


@pytest.mark.parametrize(
    ("head", "framing", "ended"),
    [
        (CHUNKED, "chunked", "complete"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "close", "complete"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "length", "timeout"),
    ],
)
def test_a_reply_that_came_in_parts_is_not_one_piece(
    tape_maker: Callable[[], Any], head: bytes, framing: Framing, ended: BodyEnd
) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply([b"abc"], head=head, framing=framing, ended=ended)
    plan = plan_of(maker)
    written = list(plan.writes())
    assert b"".join(piece.data for piece in written) == sent(plan)
    assert written == list(plan.pieces()) or framing == "length"


@pytest.mark.parametrize(
    ("fields", "framing"),
    [
        ("Content-Length: 3\r\nContent-Length: 3\r\n", "length"),
        ("Content-Length: 3\r\nContent-Length: 4\r\n", "close"),
        ("CONTENT-LENGTH:3\r\n", "length"),
        ("Content-Length : 3\r\n", "length"),
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "chunked"),
        ("Content-Length: 3\r\n\t4\r\n", "close"),
        ("X-Content-Length: 3\r\n", "close"),
    ],
)
def test_the_head_says_how_a_body_stood_on_the_wire(
    tape_maker: Callable[[], Any], fields: str, framing: Framing
) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply([b"abc"], head=f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode())
    assert plan_of(maker).framing == framing


def test_a_request_that_was_never_answered_has_no_head(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.failed("timeout")
    plan = plan_of(maker)
    assert (plan.head, plan.ended, list(plan.pieces())) == (None, "timeout", [])


def test_a_reply_that_the_recorder_did_not_live_to_end_is_cut(
    tape_maker: Callable[[], Any],
) -> None:
    maker = tape_maker()
    number = maker.request({"a": 1})
    maker.add(HttpReplyHead, exchange_id=number, head=CHUNKED)
    writer = maker.writer.body(exchange_id=number, side="origin", exact=True)
    for chunk in (b"first", b"second"):
        maker.at += 1_000_000
        writer.write(maker.redactor.body(chunk), at=maker.at)
    plan = Script(maker.leave()).plan(number)
    assert plan.ended == "cut"
    assert sent(plan) == CHUNKED + b"5\r\nfirst\r\n6\r\nsecond\r\n"


def test_a_redacted_cookie_is_played_back_in_ascii(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply(head=b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=verysecret\r\nContent-Length: 2\r\n\r\n")
    head = sent(plan_of(maker))
    assert b"Set-Cookie: sid=redacted.cookie." in head
    assert head.isascii()


def test_the_upgrade_is_answered_for_the_key_that_is_asked(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.websocket(("origin", "text", "hello"))
    plan = plan_of(maker)
    assert plan.is_websocket
    # The example of RFC 6455 section 1.3.
    head = plan.switching_head(b"dGhlIHNhbXBsZSBub25jZQ==")
    assert b"sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in head
    assert b"X-Other: kept\r\n" in head


@given(st.lists(st.binary(max_size=6), max_size=8), st.lists(st.integers(1, 9), max_size=8))
def test_however_it_is_read_a_body_is_cut_where_the_table_says(
    reads: list[bytes], sizes: list[int]
) -> None:
    content = b"".join(reads)
    table = tuple(Chunk(size, at) for at, size in enumerate(sizes))
    cuts = list(_cut(reads, table, 99))
    assert b"".join(cut.data for cut in cuts) == content
    chunks: list[bytes] = []
    for cut in cuts:
        if cut.begins:
            chunks.append(b"")
        chunks[-1] += cut.data
    expected, at = [], 0
    for size in sizes:
        expected.append(content[at : at + size])
        at += size
    whole = [part for part in expected if part]
    assert chunks[: len(whole)] == whole
    assert b"".join(chunks[len(whole) :]) == content[at:]


def test_a_large_reply_is_written_in_larger_pieces_when_the_last_of_each_had_come(
    tape_maker: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerail.playback.plan.JOINED_SIZE", 50)
    maker = tape_maker()
    maker.request({"a": 1})
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n"
    maker.reply([b"x" * 20, b"y" * 20, b"z" * 20], head=head)
    plan = plan_of(maker)
    pieces, writes = list(plan.pieces()), list(plan.writes())
    assert [piece.data for piece in writes] == [head + b"x" * 20, b"y" * 20 + b"z" * 20]
    assert [piece.at for piece in writes] == [pieces[1].at, pieces[3].at]
