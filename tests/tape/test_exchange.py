"""Requests joined with what answers them."""

from pathlib import Path

import pytest

from rerail.tape.clean import CleanBytes
from rerail.tape.exchange import exchanges, is_interim
from rerail.tape.reader import Tape
from rerail.tape.records import (
    Body,
    HttpFailed,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
    WsClosed,
    WsMessage,
    WsOpened,
)


def test_exchanges_come_in_the_order_of_their_requests(start_run) -> None:
    run = start_run()
    run.request(1)
    run.request(2)
    run.reply_head(2)
    run.reply_body(2)
    run.reply_head(1)
    run.reply_body(1)
    run.end()
    with Tape.open(run.path) as tape:
        first, second = exchanges(tape)
    assert [first.exchange_id, second.exchange_id] == [1, 2]
    assert first.request is not None
    assert first.request_body == first.request.body
    assert first.reply is not None
    assert first.reply.exchange_id == 1
    assert first.reply_body is not None
    assert first.reply_body.ended == "complete"
    assert (first.interim, first.failed, first.websocket, first.unfinished) == ((), None, (), None)


def test_a_body_that_ended_after_the_reply_began_is_the_requests(start_run) -> None:
    run = start_run()
    body = Body(digest=b"\x01" * 32, size=5)
    request = {"scheme": "http", "host": "h", "port": 80, "head": b"POST / HTTP/1.1\r\n\r\n"}
    run.add(HttpRequest(at=1, wall=1, exchange_id=7, connection_id=1, unfinished=True, **request))
    run.add(HttpReplyHead(at=2, wall=2, exchange_id=7, head=b"HTTP/1.1 100 Continue\r\n\r\n"))
    run.add(HttpReplyHead(at=3, wall=3, exchange_id=7, head=b"HTTP/1.1 103 Early Hints\r\n\r\n"))
    run.add(HttpReplyHead(at=4, wall=4, exchange_id=7, head=b"HTTP/1.1 200 OK\r\n\r\n"))
    run.add(HttpRequestBody(at=5, wall=5, exchange_id=7, body=body))
    run.add(HttpFailed(at=6, wall=6, exchange_id=7, ended="reset", reason="connection reset"))
    run.end()
    with Tape.open(run.path) as tape:
        [exchange] = exchanges(tape)
    assert exchange.request_body == body
    assert [head.head[9:12] for head in exchange.interim] == [b"100", b"103"]
    assert exchange.reply is not None
    assert exchange.reply.head.startswith(b"HTTP/1.1 200")
    assert exchange.failed is not None
    assert exchange.failed.ended == "reset"


def test_a_websocket_is_kept_in_order(start_run) -> None:
    run = start_run()
    content = run.writer.blob(CleanBytes(b"hello"))
    events = [
        WsOpened(at=1, wall=1, exchange_id=1),
        WsMessage(
            at=2, wall=2, exchange_id=1, sender="agent", opcode="text", content=content, size=5
        ),
        WsClosed(at=3, wall=3, exchange_id=1, sender="origin", code=1000),
    ]
    run.request(1)
    run.reply_head(1)
    for event in events:
        run.add(event)
    run.end()
    with Tape.open(run.path) as tape:
        [exchange] = exchanges(tape)
    assert [type(event) for event in exchange.websocket] == [WsOpened, WsMessage, WsClosed]


def test_what_had_come_of_a_reply_stands_with_its_exchange(lost: Path) -> None:
    with Tape.open(lost) as tape:
        *_, last = exchanges(tape)
        assert last.reply_body is None
        assert last.unfinished is not None
        assert last.unfinished.content() == b"data: first\n\ndata: second\n\n"


@pytest.mark.parametrize(
    ("head", "interim"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n", True),
        (b"HTTP/1.1 103\r\n\r\n", True),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\n\r\n", False),
        (b"nonsense", False),
        (b"", False),
    ],
)
def test_only_1xx_heads_other_than_101_are_interim(head: bytes, interim: bool) -> None:
    assert is_interim(head) == interim
