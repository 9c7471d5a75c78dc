"""First bytes of a connection: what they are taken for, however they are cut and however broken."""

import ssl
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.wire.client_hello import (
    HTTP2_PREFACE,
    MAX_HELLO,
    ClientHello,
    read_client_hello,
    sniff,
)


def real_hello(name: str | None, protocols: list[str], *, tls12_only: bool = False) -> bytes:
    """The first flight of Python's own TLS client."""
    context = ssl.create_default_context()
    context.check_hostname = False
    if protocols:
        context.set_alpn_protocols(protocols)
    if tls12_only:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def vector(content: bytes, width: int) -> bytes:
    return len(content).to_bytes(width) + content


def extension(kind: int, content: bytes) -> bytes:
    return struct.pack("!H", kind) + vector(content, 2)


def hello_message(extensions: bytes | None) -> bytes:
    body = b"\x03\x03" + bytes(32) + vector(b"", 1) + vector(b"\x13\x01", 2) + vector(b"\x00", 1)
    if extensions is not None:
        body += vector(extensions, 2)
    return b"\x01" + vector(body, 3)


def records(message: bytes, size: int = 16_384) -> bytes:
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + vector(part, 2) for part in parts)


SERVER_NAME = extension(0, vector(b"\x00" + vector(b"api.example.com", 2), 2))
ALPN = extension(16, vector(vector(b"h2", 1) + vector(b"http/1.1", 1), 2))
VERSIONS = extension(43, vector(b"\x7a\x7a\x03\x04\x03\x03", 1))
FULL = ClientHello("api.example.com", (b"h2", b"http/1.1"), (0x7A7A, 0x0304, 0x0303))


class TestClientHello:
    def test_a_real_client_is_understood(self) -> None:
        hello = read_client_hello(real_hello("api.example.com", ["h2", "http/1.1"]))
        assert hello == ClientHello("api.example.com", (b"h2", b"http/1.1"), (0x0304, 0x0303))

    def test_a_client_of_tls_1_2_says_so_in_the_old_field(self) -> None:
        hello = read_client_hello(real_hello("a.example", [], tls12_only=True))
        assert hello == ClientHello("a.example", (), (0x0303,))

    def test_a_client_that_connects_by_address_has_no_name(self) -> None:
        hello = read_client_hello(real_hello("127.0.0.1", []))
        assert isinstance(hello, ClientHello)
        assert hello.server_name is None

    @pytest.mark.parametrize("size", [1, 3, 7, 100])
    def test_a_hello_may_lie_in_several_records(self, size: int) -> None:
        message = hello_message(SERVER_NAME + ALPN + VERSIONS)
        assert read_client_hello(records(message, size)) == FULL

    def test_what_follows_it_is_not_looked_at(self) -> None:
        assert (
            read_client_hello(records(hello_message(SERVER_NAME + ALPN + VERSIONS)) + b"x") == FULL
        )
        both = hello_message(SERVER_NAME + ALPN + VERSIONS) + b"\x02\x00\x00\x00"
        assert read_client_hello(records(both)) == FULL

    def test_every_beginning_of_it_needs_more(self) -> None:
        for data in (
            real_hello("a.example", ["http/1.1"]),
            records(hello_message(SERVER_NAME), size=5),
        ):
            assert {read_client_hello(data[:cut]) for cut in range(len(data))} == {"more"}

    def test_a_hello_without_extensions_is_one(self) -> None:
        assert read_client_hello(records(hello_message(None))) == ClientHello(None, (), (0x0303,))

    @pytest.mark.parametrize(
        "broken",
        [
            extension(0, b""),
            extension(0, b"\xff\xff\x00"),
            extension(0, vector(b"\x00\xff\xff", 2)),
            extension(0, vector(b"\x01" + vector(b"other kind", 2), 2)),
            extension(0, vector(b"\x00" + vector(b"\xc3\xbc.example", 2), 2)),
            extension(0, vector(b"\x00" + vector(b"", 2), 2)),
            extension(0, vector(b"\x00" + vector(b"a\x00b", 2), 2)),
            extension(16, vector(b"\xffshort", 2)),
            extension(43, b"\x03\x03\x04"),
        ],
    )
    def test_a_malformed_extension_is_passed_over(self, broken: bytes) -> None:
        hello = read_client_hello(records(hello_message(broken)))
        assert hello == ClientHello(None, (), (0x0303,))

    def test_extensions_that_end_early_keep_what_came_before(self) -> None:
        data = records(hello_message(SERVER_NAME + b"\x00\x10\xff\xff"))
        assert read_client_hello(data) == ClientHello("api.example.com", (), (0x0303,))

    @pytest.mark.parametrize(
        "data",
        [
            b"GET / HTTP/1.1\r\n",
            b"\x17\x03\x01\x00\x05",
            b"\x16\x02\x01\x00\x05",
            b"\x16\x03\x01\x00\x00",
            b"\x16\x03\x01\xff\xff",
            b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00",
            b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
            b"\x16\x03\x01\x00\x04\x01\x00\x00\x00",
            b"\x16\x03\x01\x00\x05\x01\xff\xff\xff\x00",
            b"\x16\x03\x01\x00\x05\x01\x00\x01\x00\x00\x15\x03\x03\x00\x02",
        ],
    )
    def test_what_is_no_hello_is_said_to_be_none(self, data: bytes) -> None:
        assert read_client_hello(data) == "not_tls"

    def test_a_hello_beyond_the_bound_is_none(self) -> None:
        head = b"\x01" + MAX_HELLO.to_bytes(3)
        assert read_client_hello(records(head + bytes(100))) == "not_tls"

    @given(st.binary(max_size=400))
    def test_any_bytes_get_an_answer(self, data: bytes) -> None:
        read_client_hello(data)
        read_client_hello(records(hello_message(data)) if data else data)
        read_client_hello(records(b"\x01" + vector(data, 3)))

    @given(st.data())
    def test_a_changed_byte_never_raises(self, data: st.DataObject) -> None:
        hello = bytearray(records(hello_message(SERVER_NAME + ALPN + VERSIONS), size=40))
        for _ in range(data.draw(st.integers(1, 4))):
            hello[data.draw(st.integers(0, len(hello) - 1))] = data.draw(st.integers(0, 255))
        assert isinstance(read_client_hello(bytes(hello)), ClientHello | str)


class TestSniff:
    @pytest.mark.parametrize(
        ("data", "what"),
        [
            (b"", "more"),
            (b"\x16", "more"),
            (b"\x16\x03\x01", "tls"),
            (b"\x16\x02", "unknown"),
            (b"P", "more"),
            (b"PRI * HTTP/2.0\r\n", "more"),
            (HTTP2_PREFACE, "http2-preface"),
            (HTTP2_PREFACE + b"\x00\x00\x12\x04", "http2-preface"),
            (b"GET / HTTP/1.1\r\n", "http"),
            (b"GET ", "http"),
            (b"GET x", "http"),
            (b"GE", "more"),
            (b"\r", "more"),
            (b"\r\n", "more"),
            (b"\r\nPOST /v1", "http"),
            (b"\n\nPOST /v1", "http"),
            (b"PURGE /x", "http"),
            (b"M-SEARCH * HTTP/1.1", "http"),
            (b"PROPFIND http://a.example/", "http"),
            (b"PROPFIND https://a", "http"),
            (b"PROPFIND http", "more"),
            (b"PROPFIND https:/", "more"),
            (b"PROPFIND httpx", "unknown"),
            (b"PURGE ", "more"),
            (b"SSH-2.0-OpenSSH_9.2p1 Debian-2", "unknown"),
            (b"SSH-2.0-OpenSSH_9.2p1\r\n", "unknown"),
            (b"EHLO mail.example\r\n", "unknown"),
            (b"*1\r\n$4\r\nPING\r\n", "unknown"),
            (b"A" * 32, "more"),
            (b"A" * 33, "unknown"),
            (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", "unknown"),
            (b"GET\x00", "unknown"),
        ],
    )
    def test_first_bytes_are_taken_for_what_they_are(self, data: bytes, what: str) -> None:
        assert sniff(data) == what

    @given(st.binary(max_size=60), st.integers(0, 60))
    def test_an_answer_once_given_stays(self, data: bytes, cut: int) -> None:
        early = sniff(data[:cut])
        assert early == "more" or early == sniff(data)

    @given(
        st.sampled_from(
            [b"GET / HTTP/1.1\r\n", b"\r\nLOCK /x HTTP/1.1", HTTP2_PREFACE, b"PRINT http://x/"]
        ),
        st.integers(0, 40),
    )
    def test_a_beginning_is_never_taken_for_something_else(self, data: bytes, cut: int) -> None:
        assert sniff(data[:cut]) in ("more", sniff(data))
