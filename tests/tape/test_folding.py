"""Which event a half body belongs to."""

import pytest

from rerail.tape.folding import framing_of


@pytest.mark.parametrize(
    ("head", "framing"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "chunked"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\nContent-Length: 5\r\n\r\n", "chunked"),
        (b"HTTP/1.1 200 OK\r\nCONTENT-LENGTH: 5\r\n\r\n", "length"),
        (b"HTTP/1.0 200 OK\r\nX-Content-Length: 5\r\n\r\n", "close"),
        (b"", "close"),
    ],
)
def test_the_framing_of_a_half_reply_is_read_from_its_head(head: bytes, framing: str) -> None:
    assert framing_of(head) == framing
