"""A request with another body: what says something of the old body goes, all else stays."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.rewind.request import NotReadable, with_body
from rerail.wire.http1 import Data, HeadSeen, RequestScanner


def upper(body: bytes) -> bytes:
    return body.upper()


def test_a_body_of_known_length() -> None:
    raw = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nX-Key: K\r\n\r\nabc"
    sent, body = with_body(raw, upper)
    assert body == b"ABC"
    assert sent == b"POST /x HTTP/1.1\r\nHost: a\r\nX-Key: K\r\nContent-Length: 3\r\n\r\nABC"


def test_a_chunked_and_coded_body() -> None:
    coded = gzip.compress(b"abc")
    raw = (
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n"
        b"Expect: 100-continue\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(coded), coded)
    )
    assert with_body(raw, upper)[0] == b"POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nABC"


@given(old=st.binary(max_size=200), new=st.binary(max_size=200))
def test_what_is_sent_is_read_as_what_was_meant(old: bytes, new: bytes) -> None:
    raw = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(old), old)
    sent, _ = with_body(raw, lambda given: new if given == old else b"wrong")
    events = RequestScanner().feed(sent)
    assert isinstance(events[0], HeadSeen)
    assert b"".join(event.payload for event in events if isinstance(event, Data)) == new


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "no head"),
        (b"POST / HTTP/1.1\r\nContent-Encoding: rot13\r\nContent-Length: 1\r\n\r\na", "rot13"),
        (b"POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\na", "gzip"),
    ],
)
def test_what_cannot_be_read_says_why(raw: bytes, why: str) -> None:
    with pytest.raises(NotReadable, match=why):
        with_body(raw, upper)
