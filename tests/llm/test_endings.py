"""Whether a streamed reply came to its last event."""

import gzip
from typing import Any

import pytest

from rerail.errors import NotOnTape
from rerail.llm.endings import is_whole, whole_replies
from rerail.tape.exchange import joined
from rerail.tape.records import Body, HttpReplyBody, HttpReplyHead, HttpRequest

COMPLETED = b'event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n'


@pytest.mark.parametrize(
    "stream",
    [
        b'data: {"choices":[]}\n\ndata: [DONE]\n\n',
        b'data: {"choices":[]}\r\n\r\ndata: [DONE]\r\n\r\n',
        COMPLETED,
        COMPLETED.replace(b"completed", b"incomplete"),
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
        b'data: {"candidates":[{"content":{},"finishReason":"STOP"}]}\n\n',
        b'{"message":{},"done":false}\n{"done":true}\n',
    ],
)
def test_a_stream_that_came_to_its_last_event(stream: bytes) -> None:
    assert is_whole(stream)
    assert not is_whole(stream[:-2])
    assert not is_whole(stream + b"data: more\n\n")


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"\n\n",
        b"[DONE]",
        b"data: [1]\n\n",
        b'data: {"type":[]}\n\n',
        b"data: \xff\n\n",
        b"{\n",
    ],
)
def test_a_stream_that_did_not(stream: bytes) -> None:
    assert not is_whole(stream)


def replies(body: bytes, *, ended: str = "agent_closed", path: bytes = b"/v1/responses",
            coding: bytes = b"") -> Any:  # fmt: skip
    head = b"HTTP/1.1 200 OK\r\n%b\r\n" % (b"Content-Encoding: %b\r\n" % coding if coding else b"")
    events = [
        HttpRequest(seq=1, at=0, wall=0, exchange_id=1, connection_id=1, scheme="https",
                    host="api.openai.com", port=443, head=b"POST %b HTTP/1.1\r\n\r\n" % path),
        HttpReplyHead(seq=2, at=0, wall=0, exchange_id=1, head=head),
        HttpReplyBody(seq=3, at=0, wall=0, exchange_id=1, ended=ended,  # type: ignore[arg-type]
                      body=Body(digest=body, size=len(body))),
    ]  # fmt: skip
    return joined(events)


def same(digest: bytes) -> bytes:
    return digest


def test_an_agent_that_left_after_the_last_event_left_a_whole_reply() -> None:
    assert whole_replies(replies(COMPLETED), same) == {1}
    assert whole_replies(replies(gzip.compress(COMPLETED), coding=b"gzip"), same) == {1}


def test_what_is_no_such_reply() -> None:
    def gone(digest: bytes) -> bytes:
        raise NotOnTape("it is gone", hint="")

    assert not whole_replies(replies(COMPLETED[:-1]), same)
    assert not whole_replies(replies(COMPLETED, ended="complete"), same), "it needs no excuse"
    assert not whole_replies(replies(COMPLETED, ended="reset"), same)
    assert not whole_replies(replies(COMPLETED, path=b"/v1/files"), same)
    assert not whole_replies(replies(COMPLETED), gone)
