"""What an agent gets through the recorder is what the origin sent, and the tap hears the same."""

import base64
import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from rerail.proxy import held
from rerail.proxy.handler import Listening
from rerail.proxy.reach import UpstreamProxy, UpstreamSettings
from rerail.testing import replies
from rerail.testing.ca import CertificateAuthority
from rerail.testing.forward_proxy import forward_proxy
from rerail.testing.origin import CLOSE, CUT, READ, RESET, Origin
from rerail.testing.replies import serve
from rerail.testing.websocket import websocket_echo

NAME = "api.example.com"
"""A host that stands in no name service: only an override reaches it."""

StartOrigin = Callable[..., Origin]
StartProxy = Callable[..., Any]


def overriding(origin: Origin, **more: Any) -> UpstreamSettings:
    """Settings by which `NAME` is the origin, on the ports that agents use."""
    places = {(NAME, 80): origin.address, (NAME, 443): origin.address}
    return UpstreamSettings(overrides=places, **more)


def get(path: str, *, close: bool = True, form: str = "") -> bytes:
    ending = "Connection: close\r\n" if close else ""
    return f"GET {form}{path} HTTP/1.1\r\nHost: {NAME}\r\n{ending}\r\n".encode()


@pytest.fixture
def trust(tmp_path: Any, authority: CertificateAuthority) -> str:
    return str(authority.write(tmp_path / "authority.pem"))


def test_plain_http_reaches_the_origin_in_origin_form(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    origin = start_origin(serve(replies.text("hello")))
    proxy = proxied(overriding(origin))
    with proxy.connect() as agent:
        agent.sendall(
            f"GET http://{NAME}/a?b=c HTTP/1.1\r\nHOST: {NAME}\r\nX-A: 1\r\nx-a: 2\r\n"
            "Proxy-Connection: keep-alive\r\nConnection: close\r\n\r\n".encode()
        )
        reply = proxy.read_all(agent)
    assert reply.endswith(b"hello")
    expected = (
        f"GET /a?b=c HTTP/1.1\r\nHOST: {NAME}\r\nX-A: 1\r\nx-a: 2\r\nConnection: close\r\n\r\n"
    )
    assert origin.received == [expected.encode()]
    (noted,) = proxy.exchanges()
    assert noted.request == expected.encode()
    assert noted.chunks == [b"hello"] and noted.ended == "complete"
    assert noted.heads[0] + b"hello" == reply


def test_tls_is_read_and_passed_on_unchanged(
    proxied: StartProxy, start_origin: StartOrigin, authority: CertificateAuthority, trust: str
) -> None:
    origin = start_origin(serve(replies.text("secret")), tls=authority.leaf(NAME))
    proxy = proxied(overriding(origin, trust_file=trust))
    with proxy.secure(proxy.tunnel(NAME, 443), NAME, "http/1.1") as agent:
        agent.sendall(get("/t"))
        assert proxy.read_all(agent).endswith(b"secret")
    assert origin.received == [get("/t")]
    (noted,) = proxy.exchanges()
    assert (noted.route.scheme, noted.route.host, noted.route.port) == ("https", NAME, 443)


def test_a_client_hello_in_the_segment_of_its_connect_is_not_lost(
    proxied: StartProxy, start_origin: StartOrigin, authority: CertificateAuthority, trust: str
) -> None:
    origin = start_origin(serve(replies.text("early")), tls=authority.leaf(NAME))
    proxy = proxied(overriding(origin, trust_file=trust))
    context = ssl.create_default_context(cadata=proxy.certificate.decode())
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=NAME)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    with proxy.connect() as agent:
        agent.sendall(f"CONNECT {NAME}:443 HTTP/1.1\r\n\r\n".encode() + outgoing.read())
        assert proxy.read_head(agent).startswith(b"HTTP/1.1 200")
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                agent.sendall(outgoing.read())
                incoming.write(agent.recv(65536))
        tls.write(get("/e"))
        agent.sendall(outgoing.read())
        while data := agent.recv(65536):
            incoming.write(data)
        assert tls.read(65536).endswith(b"early")


def test_plain_http_inside_a_tunnel_is_understood(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    """Python's websockets sends CONNECT even for ws://."""
    origin = start_origin(serve(replies.text("plain")))
    proxy = proxied(overriding(origin))
    with proxy.tunnel(NAME, 80) as agent:
        agent.sendall(get("/p"))
        assert proxy.read_all(agent).endswith(b"plain")
    assert proxy.exchanges()[0].route.scheme == "http"


def test_a_stream_arrives_while_it_is_made(proxied: StartProxy, start_origin: StartOrigin) -> None:
    gates = [threading.Event() for _ in range(3)]
    pieces = [b"data: one\n\n", b"data: two\n\n", b"data: three\n\n"]
    origin = start_origin(serve(replies.gated(pieces, gates)))
    proxy = proxied(overriding(origin))
    with proxy.connect() as agent:
        agent.sendall(get("/s", form=f"http://{NAME}"))
        seen = b""
        for gate, piece in zip(gates, pieces, strict=True):
            gate.set()
            while piece not in seen:
                seen += agent.recv(65536)
        proxy.read_all(agent)
    assert proxy.exchanges()[0].chunks[: len(pieces)] == pieces


def test_trailers_interim_replies_and_chunks_pass_and_are_heard(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    chunked = replies.chunked([b"one", b"two"], trailers=[("X-Sum", "6")])
    origin = start_origin(serve(replies.interim(103, chunked, more=[("Link", "</a>")])))
    proxy = proxied(overriding(origin))
    with proxy.connect() as agent:
        agent.sendall(get("/", form=f"http://{NAME}"))
        reply = proxy.read_all(agent)
    (noted,) = proxy.exchanges()
    assert noted.interim[0].startswith(b"HTTP/1.1 103")
    assert noted.chunks == [b"one", b"two"] and noted.trailers == b"X-Sum: 6\r\n"
    assert reply == noted.interim[0] + noted.heads[0] + (
        b"3\r\none\r\n3\r\ntwo\r\n0\r\nX-Sum: 6\r\n\r\n"
    )


def test_keep_alive_connections_carry_many_exchanges(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    origin = start_origin(serve(replies.text("again")))
    proxy = proxied(overriding(origin))
    with proxy.connect() as agent:
        for number in range(3):
            agent.sendall(get(f"/{number}", close=False, form=f"http://{NAME}"))
            assert proxy.read_head(agent).startswith(b"HTTP/1.1 200")
            assert agent.recv(5, socket.MSG_WAITALL) == b"again"
    assert origin.connections == 1
    assert [noted.ended for noted in proxy.exchanges()] == ["complete"] * 3


def test_one_connection_may_ask_several_origins(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    first, second = start_origin(serve(replies.text("A"))), start_origin(serve(replies.text("B")))
    proxy = proxied(UpstreamSettings())
    with proxy.connect() as agent:
        for origin, letter in ((first, b"A"), (second, b"B"), (first, b"A")):
            agent.sendall(get("/", close=False, form=origin.url))
            proxy.read_head(agent)
            assert agent.recv(1) == letter


def test_expect_is_passed_on_and_no_continue_is_invented(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    origin = start_origin(serve(replies.unexpecting(413)))
    proxy = proxied(overriding(origin))
    with proxy.connect() as agent:
        agent.sendall(
            f"POST http://{NAME}/up HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 10\r\n"
            "Expect: 100-continue\r\n\r\n".encode()
        )
        assert proxy.read_head(agent).startswith(b"HTTP/1.1 413")
    (noted,) = proxy.exchanges()
    assert not noted.interim and not noted.request_over


@pytest.mark.parametrize("how", [CUT, RESET])
def test_a_reply_broken_off_reaches_the_agent_broken_off(
    proxied: StartProxy, start_origin: StartOrigin, how: Any
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
    origin = start_origin([READ, head + b"twenty bytes of these", 0.1, how])
    proxy = proxied(overriding(origin))
    with proxy.connect() as agent:
        agent.sendall(get("/", form=f"http://{NAME}"))
        seen = b""
        error = None
        try:
            while piece := agent.recv(65536):
                seen += piece
        except ConnectionResetError as reset:
            error = reset
    assert seen == head + b"twenty bytes of these"
    assert (error is not None) == (how is RESET)
    (noted,) = proxy.exchanges()
    assert noted.chunks == [b"twenty bytes of these"]
    assert noted.ended == ("reset" if how is RESET else "cut")


@pytest.mark.parametrize(("how", "ended"), [(CUT, "truncated"), (CLOSE, "complete")])
def test_tls_without_a_goodbye_reaches_the_agent_without_one(
    proxied: StartProxy,
    start_origin: StartOrigin,
    authority: CertificateAuthority,
    trust: str,
    how: Any,
    ended: str,
) -> None:
    script = [READ, b"HTTP/1.1 200 OK\r\n\r\nup to the end", 0.05, how]
    origin = start_origin(script, tls=authority.leaf(NAME))
    proxy = proxied(overriding(origin, trust_file=trust))
    context = ssl.create_default_context(cadata=proxy.certificate.decode())
    tunnel = proxy.tunnel(NAME, 443)
    seen = b""
    with context.wrap_socket(tunnel, server_hostname=NAME, suppress_ragged_eofs=False) as agent:
        agent.sendall(get("/"))
        broken_off = False
        try:
            while piece := agent.recv(65536):
                seen += piece
        except ssl.SSLEOFError:
            broken_off = True
    assert broken_off == (how is CUT)
    assert seen.endswith(b"up to the end")
    assert proxy.exchanges()[0].ended == ended


def test_an_origin_that_is_not_there_is_a_502_and_is_told(proxied: StartProxy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = gone.getsockname()
    proxy = proxied(UpstreamSettings(overrides={(NAME, 443): address, (NAME, 80): address}))
    with proxy.connect() as agent:
        agent.sendall(f"CONNECT {NAME}:443 HTTP/1.1\r\n\r\n".encode())
        assert proxy.read_head(agent).startswith(b"HTTP/1.1 502")
    with proxy.connect() as agent:
        agent.sendall(get("/", form=f"http://{NAME}"))
        assert b"cannot connect to api.example.com:80" in proxy.read_all(agent)
    assert [phase for phase, _, _ in proxy.notes.failures] == ["connect", "connect"]


@pytest.mark.parametrize(
    ("leaf", "verify_code", "shown"),
    [
        (lambda ca: ca.expired_leaf(NAME), 10, "expired"),
        (lambda ca: ca.leaf("other.example.com"), 62, "name"),
        (lambda ca: ca.self_signed_leaf(NAME), None, "issuer"),
    ],
)
def test_a_certificate_that_would_not_verify_does_not_verify(
    proxied: StartProxy,
    start_origin: StartOrigin,
    authority: CertificateAuthority,
    trust: str,
    leaf: Callable[[CertificateAuthority], Any],
    verify_code: int | None,
    shown: str,
) -> None:
    origin = start_origin(serve(replies.text("risky")), tls=leaf(authority))
    proxy = proxied(overriding(origin, trust_file=trust))
    with pytest.raises(ssl.SSLCertVerificationError) as raised:
        proxy.secure(proxy.tunnel(NAME, 443), NAME)
    if verify_code is not None:
        assert raised.value.verify_code == verify_code
    phase, _, said = proxy.notes.failures[0]
    assert (phase, said) == ("tls", shown)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (lambda peer: peer.send(b"no TLS: " + peer.receive()[:1]), "SSLError"),
        ([0.05, CUT], "SSLEOFError"),
        ([0.05, RESET], "ConnectionResetError"),
    ],
)
def test_a_handshake_that_fails_at_the_origin_fails_alike_for_the_agent(
    proxied: StartProxy, start_origin: StartOrigin, trust: str, script: Any, error: str
) -> None:
    proxy = proxied(overriding(start_origin(script), trust_file=trust))
    with pytest.raises(OSError) as raised:
        proxy.secure(proxy.tunnel(NAME, 443), NAME)
    assert type(raised.value).__name__ == error
    assert proxy.notes.failures[0][0] == "tls"


def test_an_agent_that_does_not_verify_gets_its_reply(
    proxied: StartProxy, start_origin: StartOrigin, authority: CertificateAuthority, trust: str
) -> None:
    origin = start_origin(serve(replies.text("risky")), tls=authority.expired_leaf(NAME))
    proxy = proxied(overriding(origin, trust_file=trust))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(proxy.tunnel(NAME, 443), server_hostname=NAME) as agent:
        agent.sendall(get("/"))
        assert proxy.read_all(agent).endswith(b"risky")


def test_websocket_frames_pass_as_they_are(proxied: StartProxy, start_origin: StartOrigin) -> None:
    origin = start_origin(serve(websocket_echo()))
    proxy = proxied(overriding(origin))
    key = base64.b64encode(b"k" * 16).decode()
    with proxy.connect() as agent:
        agent.sendall(
            f"GET http://{NAME}/ws HTTP/1.1\r\nHost: {NAME}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        assert proxy.read_head(agent).startswith(b"HTTP/1.1 101")
        frame = b"\x81\x82\x00\x00\x00\x00hi"
        agent.sendall(frame)
        assert agent.recv(4, socket.MSG_WAITALL) == b"\x81\x02hi"
    assert proxy.exchanges()[0].after["agent"].startswith(frame)
    assert proxy.exchanges()[0].after["origin"] == b"\x81\x02hi"


def test_what_is_not_http_passes_through_a_tunnel(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    first = start_origin([b"220 mail ready\r\n", 0.2, b"bye\r\n"])
    proxy = proxied(overriding(first))
    with proxy.tunnel(NAME, 80) as agent:
        assert proxy.read_all(agent) == b"220 mail ready\r\nbye\r\n"
    (tunnel,) = proxy.notes.tunnels
    assert tunnel.why == "the origin spoke first" and tunnel.origin == b"220 mail ready\r\nbye\r\n"


def test_tls_for_http2_alone_passes_unread_and_is_told(
    proxied: StartProxy, start_origin: StartOrigin, authority: CertificateAuthority
) -> None:
    context = authority.leaf(NAME).server_context(alpn=("h2",))
    origin = start_origin([READ, b"x"], tls=context)
    proxy = proxied(overriding(origin))
    client = authority.client_context()
    client.set_alpn_protocols(["h2"])
    with client.wrap_socket(proxy.tunnel(NAME, 443), server_hostname=NAME) as agent:
        assert agent.selected_alpn_protocol() == "h2"
    assert proxy.notes.gaps[0].startswith("TLS without HTTP/1.1")


def test_tls_that_offers_only_http_1_0_is_read(
    proxied: StartProxy, start_origin: StartOrigin, authority: CertificateAuthority, trust: str
) -> None:
    origin = start_origin(serve(replies.text("old")), tls=authority.leaf(NAME))
    proxy = proxied(overriding(origin, trust_file=trust))
    with proxy.secure(proxy.tunnel(NAME, 443), NAME, "http/1.0") as agent:
        assert agent.selected_alpn_protocol() == "http/1.0"
        agent.sendall(f"GET / HTTP/1.0\r\nHost: {NAME}\r\n\r\n".encode())
        assert proxy.read_all(agent).endswith(b"old")
    assert len(proxy.exchanges()) == 1


def test_a_reverse_listener_stands_for_one_origin(
    proxied: StartProxy, start_origin: StartOrigin, authority: CertificateAuthority, trust: str
) -> None:
    origin = start_origin(serve(replies.text("base url")), tls=authority.leaf(NAME))
    proxy = proxied(overriding(origin, trust_file=trust), Listening(reverse=("https", NAME, 443)))
    with proxy.connect() as agent:
        agent.sendall(b"GET /v1 HTTP/1.1\r\nHost: 127.0.0.1:9\r\nConnection: close\r\n\r\n")
        assert proxy.read_all(agent).endswith(b"base url")
    assert f"Host: {NAME}\r\n".encode() in origin.received[0]


def test_the_proxy_port_serves_only_who_knows_the_token(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    origin = start_origin(serve(replies.text("in")))
    proxy = proxied(overriding(origin), Listening(token="t0ken"))
    for asked in (get("/", form=f"http://{NAME}"), f"CONNECT {NAME}:80 HTTP/1.1\r\n\r\n".encode()):
        with proxy.connect() as agent:
            agent.sendall(asked)
            assert proxy.read_all(agent).startswith(b"HTTP/1.1 407 ")
    with proxy.connect() as agent:
        pair = base64.b64encode(b"p7:t0ken").decode()
        line = f"Proxy-Authorization: Basic {pair}\r\nConnection: close\r\n\r\n".encode()
        agent.sendall(get("/", close=False, form=f"http://{NAME}")[:-2] + line)
        assert proxy.read_all(agent).endswith(b"in")
    assert proxy.exchanges()[0].route.process_id == 7
    assert b"Proxy-" not in origin.received[0]


@pytest.mark.parametrize("secure", [False, True])
def test_origins_are_reached_through_the_parents_proxy(
    proxied: StartProxy,
    start_origin: StartOrigin,
    authority: CertificateAuthority,
    trust: str,
    secure: bool,
) -> None:
    tls = authority.leaf(NAME) if secure else None
    origin = start_origin(serve(replies.text("far")), tls=tls)
    places = {(NAME, 443): origin.address, (NAME, 80): origin.address}
    between = start_origin(forward_proxy(credentials=("u", "p"), resolve=places))
    upstream = UpstreamProxy.parse(f"http://u:p@127.0.0.1:{between.port}")
    settings = UpstreamSettings(proxies={"http": upstream, "https": upstream}, trust_file=trust)
    proxy = proxied(settings)
    if secure:
        with proxy.secure(proxy.tunnel(NAME, 443), NAME) as agent:
            agent.sendall(get("/"))
            assert proxy.read_all(agent).endswith(b"far")
    else:
        with proxy.connect() as agent:
            agent.sendall(get("/", form=f"http://{NAME}"))
            assert proxy.read_all(agent).endswith(b"far")
    assert between.connections == 1
    assert b"Proxy-Authorization" not in proxy.exchanges()[0].request


def test_a_failed_recording_lets_nothing_pass(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    origin = start_origin(serve(replies.text("lost")))
    proxy = proxied(overriding(origin))
    proxy.notes.refusal = "the recording failed: no space left"
    with proxy.connect() as agent:
        agent.sendall(get("/", form=f"http://{NAME}"))
        assert b"no space left" in proxy.read_all(agent)
    assert origin.connections == 0


def test_an_agent_that_goes_away_is_told_and_the_origin_is_let_go(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    origin = start_origin(serve(replies.open_stream(b"data: first\n\n")))
    proxy = proxied(overriding(origin))
    agent = proxy.connect()
    agent.sendall(get("/", form=f"http://{NAME}"))
    while b"first" not in agent.recv(65536):
        pass
    agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    agent.close()
    origin.wait_until(lambda origin: all(c.closed for c in origin.each_connection))
    assert proxy.exchanges()[0].ended == "agent_closed"


def test_a_reply_waits_until_the_tap_lets_it_go(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    proxy = proxied(overriding(start_origin(serve(replies.text("hello")))))
    proxy.notes.holds = True
    with proxy.connect() as agent:
        agent.sendall(get("/a", form=f"http://{NAME}"))
        (noted,) = until(proxy.exchanges)
        assert noted.chunks == [b"hello"]
        assert not select.select([agent], [], [], 0)[0]
        proxy.notes.holds = False
        proxy.notes.then()
        assert proxy.read_all(agent).endswith(b"hello")


def test_a_reply_does_not_wait_for_ever(
    proxied: StartProxy, start_origin: StartOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "HELD_SECONDS", 0.01)
    proxy = proxied(overriding(start_origin(serve(replies.content(bytes(3 << 20))))))
    proxy.notes.holds = True
    with proxy.connect() as agent:
        agent.sendall(get("/a", form=f"http://{NAME}"))
        assert len(proxy.read_all(agent)) > 3 << 20
    assert proxy.notes.gaps == ["it had waited long enough"]


def until(found: Callable[[], Any]) -> Any:
    """Ask again until there is something: at most half a minute."""
    deadline = time.monotonic() + 30
    while not (result := found()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return result
