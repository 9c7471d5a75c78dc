import gzip
import hashlib
import http.client
import json
import socket
import threading
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import (
    after,
    bodiless,
    broken,
    chunked,
    content,
    echo,
    encoded,
    event_stream,
    gated,
    huge,
    huge_sha256,
    in_turn,
    interim,
    open_stream,
    redirect,
    routes,
    serve,
    short_body,
    short_chunks,
    sink,
    text,
    unexpecting,
    until_close,
    when,
    wire,
)

Start = Callable[..., Origin]


def get(target: str = "/", method: str = "GET", *more: str, close: bool = True) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: a", *more, *["Connection: close"] * close]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def ask(origin: Origin, sent: bytes) -> bytes:
    with socket.create_connection(origin.address, 5) as peer:
        peer.sendall(sent)
        parts = []
        while part := peer.recv(1 << 16):
            parts.append(part)
        return b"".join(parts)


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def test_head_gets_the_head_and_the_connection_goes_on(start_origin: Start) -> None:
    origin = start_origin(serve(content(b"12345")))
    answer = ask(origin, get(method="HEAD", close=False) + get())
    assert answer.count(b"Content-Length: 5") == 2
    assert answer.endswith(b"12345")
    assert answer.count(b"12345") == 1


def test_204_and_304_end_with_their_head(start_origin: Start) -> None:
    origin = start_origin(serve(in_turn(bodiless(204), bodiless(304, length=1234), text("end"))))
    answer = ask(origin, get(close=False) + get(close=False) + get())
    assert answer.startswith(b"HTTP/1.1 204 No Content")
    assert b"HTTP/1.1 304 Not Modified" in answer
    assert b"Content-Length: 1234" in answer
    assert answer.endswith(b"end")


def test_chunks_and_trailers_are_on_the_wire_as_given(start_origin: Start) -> None:
    origin = start_origin(serve(chunked([b"one", b"twenty"], trailers=[("X-Sum", "9")])))
    answer = ask(origin, get())
    assert b"Trailer: X-Sum" in answer
    assert body_of(answer) == b"3\r\none\r\n6\r\ntwenty\r\n0\r\nX-Sum: 9\r\n\r\n"


def test_an_event_stream_sends_each_event_by_itself(start_origin: Start) -> None:
    origin = start_origin(serve(event_stream(3, pause=0.02)))
    answer = ask(origin, get())
    assert answer.count(b"data:") == 3
    sent = origin.each_connection[0].sent
    assert sent[2].at - sent[1].at >= 20_000_000


def test_gated_pieces_wait_for_their_gates(start_origin: Start) -> None:
    gate = threading.Event()
    first = threading.Event()
    first.set()
    origin = start_origin(serve(gated([b"one", b"two"], [first, gate])))
    connection = http.client.HTTPConnection(*origin.address, timeout=5)
    connection.request("GET", "/")
    reply = connection.getresponse()
    assert reply.read(3) == b"one"
    gate.set()
    assert reply.read() == b"two"
    connection.close()


def test_an_open_stream_stays_open_beside_another_request(start_origin: Start) -> None:
    origin = start_origin(routes({"/open": open_stream(b"data: 1\n\n"), "/": text("ok")}))
    with socket.create_connection(origin.address, 5) as stream:
        stream.sendall(get("/open"))
        while not (seen := stream.recv(1 << 16)).endswith(b"data: 1\n\n\r\n"):
            assert seen
        assert ask(origin, get()).endswith(b"ok")


def test_an_old_server_ends_its_body_by_closing(start_origin: Start) -> None:
    origin = start_origin(serve(until_close([b"a", b"b"], version="HTTP/1.0")))
    answer = ask(origin, get(close=False))
    assert answer == b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nab"


@pytest.mark.parametrize("in_chunks", [False, True])
def test_a_huge_body_is_streamed_and_its_digest_known(start_origin: Start, in_chunks: bool) -> None:
    size = (5 << 20) + 17
    origin = start_origin(serve(huge(size, in_chunks=in_chunks)))
    connection = http.client.HTTPConnection(*origin.address, timeout=5)
    connection.request("GET", "/")
    reply = connection.getresponse()
    digest = hashlib.sha256()
    while block := reply.read(1 << 16):
        digest.update(block)
    assert digest.hexdigest() == huge_sha256(size)
    connection.close()


@pytest.mark.parametrize("in_chunks", [False, True])
def test_an_upload_is_digested_and_not_held(start_origin: Start, in_chunks: bool) -> None:
    data = b"0123456789abcdef" * (3 << 16)
    pieces = [data[start : start + 50_000] for start in range(0, len(data), 50_000)]
    origin = start_origin(serve(sink))
    connection = http.client.HTTPConnection(*origin.address, timeout=5)
    if in_chunks:
        connection.request("POST", "/", body=iter(pieces), encode_chunked=True)
    else:
        connection.request("POST", "/", body=data)
    told = json.loads(connection.getresponse().read())
    assert told == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert len(origin.requests[0].body) == Request.KEEP
    assert len(origin.received[0]) <= 1 << 20
    connection.close()


def test_an_interim_reply_comes_before_the_reply(start_origin: Start) -> None:
    early = interim(103, text("ok"), more=[("Link", "</a.css>")], pause=0.01)
    answer = ask(start_origin(serve(early)), get())
    assert answer.startswith(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK")


def test_a_request_can_be_refused_before_its_body(start_origin: Start) -> None:
    origin = start_origin(serve(unexpecting(413)))
    answer = ask(origin, get("/", "POST", "Expect: 100-continue", "Content-Length: 9"))
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_100_is_sent_when_the_origin_chooses(start_origin: Start) -> None:
    head = get("/", "POST", "Expect: 100-continue", "Content-Length: 2")
    origin = start_origin(serve(interim(100, echo)))
    with socket.create_connection(origin.address, 5) as peer:
        peer.sendall(head)
        assert peer.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.sendall(b"ok")
        assert b'"size": 2' in peer.recv(1 << 16)


def test_echo_tells_headers_in_order_and_with_their_case(start_origin: Start) -> None:
    sent = get("/x?a=1", "GET", "X-TWO: 2", "x-one: 1", "X-TWO: again")
    told = json.loads(body_of(ask(start_origin(serve(echo)), sent)))
    assert told["target"] == "/x?a=1"
    assert told["headers"][1:4] == [["X-TWO", "2"], ["x-one", "1"], ["X-TWO", "again"]]


def test_request_trailers_are_read(start_origin: Start) -> None:
    sent = get("/", "POST", "Transfer-Encoding: chunked") + b"2\r\nab\r\n0\r\nX-Sum: 2\r\n\r\n"
    origin = start_origin(serve(echo))
    assert json.loads(body_of(ask(origin, sent)))["trailers"] == [["X-Sum", "2"]]
    assert origin.requests[0].body_chunks == [2]


def test_a_redirect_names_its_target(start_origin: Start) -> None:
    answer = ask(start_origin(serve(redirect("/there", status=307))), get())
    assert b"307 Temporary Redirect" in answer
    assert b"\r\nLocation: /there\r\n" in answer


@pytest.mark.parametrize(
    ("coding", "decode"),
    [
        ("gzip", gzip.decompress),
        ("deflate", zlib.decompress),
        ("br", brotli.decompress),
        ("zstd", zstandard.decompress),
        ("x-unknown", bytes),
    ],
)
def test_a_content_coding_is_announced_and_applied(
    start_origin: Start, coding: str, decode: Callable[[bytes], bytes]
) -> None:
    answer = ask(start_origin(serve(encoded(b'{"a": 1}', coding))), get())
    assert f"Content-Encoding: {coding}".encode() in answer
    assert decode(body_of(answer)) == b'{"a": 1}'


def test_a_short_body_is_shorter_than_promised(start_origin: Start) -> None:
    answer = ask(start_origin(serve(short_body(promised=100, sent=20))), get())
    assert b"Content-Length: 100" in answer
    assert len(body_of(answer)) == 20


def test_a_chunked_body_can_end_in_a_reset(start_origin: Start) -> None:
    origin = start_origin(serve(short_chunks([b"data: 1\n\n"], "reset", pause=0.05)))
    with socket.create_connection(origin.address, 5) as peer:
        peer.sendall(get())
        assert peer.recv(1 << 16).endswith(b"data: 1\n\n\r\n")
        with pytest.raises(ConnectionResetError):
            peer.recv(1)


@pytest.mark.parametrize("how", ["close", "cut"])
def test_a_connection_can_end_without_a_word(start_origin: Start, how: str) -> None:
    assert ask(start_origin(serve(broken(b"", how))), get()) == b""


def test_exact_bytes_keep_the_connection(start_origin: Start) -> None:
    odd = wire(b"HTTP/1.1 200 \r\nContent-Length : 2\n\nok")
    answer = ask(start_origin(serve(odd)), get(close=False) + get())
    assert answer.count(b"Content-Length : 2") == 2


def test_a_reply_can_wait_for_the_test(start_origin: Start) -> None:
    event = threading.Event()
    origin = start_origin(serve(when(event, text("now"))))
    answers: list[bytes] = []
    asking = threading.Thread(target=lambda: answers.append(ask(origin, get())))
    asking.start()
    origin.wait_until(lambda seen: len(seen.requests) == 1)
    assert answers == []
    event.set()
    asking.join(5)
    assert answers[0].endswith(b"now")


def test_a_first_byte_can_be_slow(start_origin: Start) -> None:
    origin = start_origin(serve(after(0.03, text("late"))))
    began = origin.clock.at()
    assert ask(origin, get()).endswith(b"late")
    assert origin.clock.at() - began >= 30_000_000


def test_routes_go_by_method_and_path_and_the_rest_is_missing(start_origin: Start) -> None:
    origin = start_origin(routes({"POST /a": text("posted"), "/a": text("got")}))
    assert ask(origin, get("/a", "POST", "Content-Length: 0")).endswith(b"posted")
    assert ask(origin, get("/a?b=c")).endswith(b"got")
    assert ask(origin, get("http://h:1/a?b")).endswith(b"got")
    assert ask(origin, get("/b")).startswith(b"HTTP/1.1 404 ")


def test_an_http_1_0_request_closes_its_connection(start_origin: Start) -> None:
    assert ask(start_origin(serve(text("ok"))), b"GET / HTTP/1.0\r\n\r\n").endswith(b"ok")


def test_a_request_cut_in_its_body_ends_the_script(start_origin: Start) -> None:
    reached: list[Request] = []

    def note(connection: Connection, request: Request) -> None:
        request.read()
        reached.append(request)

    origin = start_origin(serve(note))
    for cut in (b"Content-Length: 9\r\n\r\nab", b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"):
        with socket.create_connection(origin.address, 5) as peer:
            peer.sendall(b"POST / HTTP/1.1\r\n" + cut)
            peer.shutdown(socket.SHUT_WR)
            assert peer.recv(1) == b""
    assert reached == []
