"""The load client's route and its readers of replies."""

import pytest

from bench.connection import ChunkedReply, CountedReply, EventReply, Reader, Route, WholeReply
from bench.content import echo_of, reply_body, request_body

HEAD = b"HTTP/1.1 200 OK\r\nA: b\r\ncontent-length: 5\r\n\r\n"


def fed(reader: Reader, content: bytes, piece: int) -> list[bool]:
    return [reader.feed(content[at : at + piece]) for at in range(0, len(content), piece)]


def test_without_proxy_variables_the_route_is_direct() -> None:
    route = Route.to("http://localhost:81", {})
    assert route.proxy is None
    assert route.head(b"GET", b"/a", b"\r\n") == b"GET /a HTTP/1.1\r\nHost: localhost:81\r\n\r\n"


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY"])
def test_a_proxy_gets_the_absolute_form_and_its_user_information(variable: str) -> None:
    route = Route.to("http://localhost:81", {variable: "http://p1:a%2Fb@127.0.0.1:8080"})
    head = route.head(b"GET", b"/a", b"\r\n")
    assert route.proxy is not None
    assert route.proxy[:2] == ("127.0.0.1", 8080)
    assert head.startswith(b"GET http://localhost:81/a HTTP/1.1\r\nHost: localhost:81\r\n")
    assert b"\r\nProxy-Authorization: Basic cDE6YS9i\r\n" in head


def test_inside_a_tunnel_the_request_is_as_to_an_origin() -> None:
    route = Route.to("https://localhost:81", {"https_proxy": "http://u:p@127.0.0.1:1"})
    assert route.head(b"GET", b"/", b"\r\n") == b"GET / HTTP/1.1\r\nHost: localhost:81\r\n\r\n"


@pytest.mark.parametrize("piece", [1, 7, len(HEAD), 1000])
def test_a_whole_reply_ends_with_its_length_however_it_is_cut(piece: int) -> None:
    reader = WholeReply()
    assert [*fed(reader, HEAD + b"hello", piece)].index(True) == (len(HEAD) + 4) // piece
    assert reader.content.endswith(b"hello")


@pytest.mark.parametrize("piece", [1, 11, 1000])
def test_a_counted_reply_counts_its_body_only(piece: int) -> None:
    reader = CountedReply()
    assert fed(reader, HEAD + b"hello", piece)[-1]
    assert reader.size == 5


@pytest.mark.parametrize("piece", [1, 4, 1000])
def test_a_chunked_reply_ends_with_its_last_chunk(piece: int) -> None:
    content = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
    said = fed(ChunkedReply(), content, piece)
    assert said.index(True) == len(said) - 1


@pytest.mark.parametrize("piece", [1, 13, 1000])
def test_every_event_of_a_stream_has_a_delay(piece: int) -> None:
    events = b"".join(b'18\r\ndata: {"a": 1, "sent": %d}\n\n\r\n' % n for n in (1, 2, 3))
    reader = EventReply()
    content = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + events + b"0\r\n\r\n"
    assert fed(reader, content, piece)[-1]
    assert len(reader.delays) == 3
    assert reader.first_at > 0


def test_requests_differ_and_replies_name_their_request() -> None:
    assert len({request_body(number) for number in range(2000)}) == 2000
    assert 1800 < len(request_body(0)) < 2300
    assert 800 < len(reply_body(5)) < 1200
    assert echo_of(5) in reply_body(5)
    assert echo_of(5) not in reply_body(55)
