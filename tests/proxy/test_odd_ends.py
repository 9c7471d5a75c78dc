"""Connections that end, or begin to speak, at another moment than HTTP's ordinary one."""

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.proxy.reach import UpstreamSettings
from rerail.testing import replies
from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection
from rerail.testing.origin import CLOSE, READ, READ_HEAD, Origin
from rerail.testing.replies import serve

NAME = "api.example.com"
PIECE = bytes(1 << 20)
TOO_LARGE = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"

StartOrigin = Callable[..., Origin]
StartProxy = Callable[..., Any]


def overriding(origin: Origin, **more: Any) -> UpstreamSettings:
    places = {(NAME, 80): origin.address, (NAME, 443): origin.address}
    return UpstreamSettings(overrides=places, **more)


@pytest.fixture
def trust(tmp_path: Path, authority: CertificateAuthority) -> str:
    return str(authority.write(tmp_path / "authority.pem"))


@pytest.mark.parametrize("secure", [False, True])
def test_an_agent_that_is_still_sending_reads_why_it_should_not(
    proxied: StartProxy,
    start_origin: StartOrigin,
    authority: CertificateAuthority,
    trust: str,
    secure: bool,
) -> None:
    """Closing with its bytes unread would reset the connection, and the reply would be lost."""
    leaf = authority.leaf(NAME) if secure else None
    origin = start_origin([READ_HEAD, TOO_LARGE, CLOSE], tls=leaf)
    proxy = proxied(overriding(origin, trust_file=trust))
    agent = proxy.tunnel(NAME, 443 if secure else 80)
    if secure:
        agent = proxy.secure(agent, NAME)
    with agent:
        agent.sendall(b"PUT /f HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (32 * len(PIECE)))
        for _ in range(32):
            agent.sendall(PIECE)
        assert proxy.read_all(agent) == TOO_LARGE
    (noted,) = proxy.exchanges()
    assert (noted.ended, noted.request_over, noted.request_ended) == ("complete", False, "cut")


def test_a_request_whose_length_is_no_number_is_refused_where_it_cannot_be_passed_on(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    """Where it ends is not known, nor so to whom what follows it belongs."""
    origin = start_origin(serve(replies.text("first")))
    proxy = proxied(overriding(origin))
    good = f"GET http://{NAME}/ HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode()
    bad = f"POST http://{NAME}/ HTTP/1.1\r\nContent-Length: x\r\n\r\nbody".encode()
    with proxy.connect() as agent:
        agent.sendall(bad)
        assert proxy.read_all(agent).startswith(b"HTTP/1.1 400 ")
    with proxy.connect() as agent:
        agent.sendall(good)
        assert proxy.read_head(agent).startswith(b"HTTP/1.1 200 ")
        assert agent.recv(5) == b"first"
        agent.sendall(bad)
        assert proxy.read_all(agent).startswith(b"HTTP/1.1 400 ")
    (received,) = origin.received
    assert b"POST" not in received


def test_an_origin_that_speaks_first_over_tls_is_heard(
    proxied: StartProxy, start_origin: StartOrigin, authority: CertificateAuthority, trust: str
) -> None:
    origin = start_origin([b"* OK ready\r\n", CLOSE], tls=authority.leaf(NAME))
    proxy = proxied(overriding(origin, trust_file=trust))
    with proxy.secure(proxy.tunnel(NAME, 443), NAME) as agent:
        assert proxy.read_all(agent) == b"* OK ready\r\n"
    (tunnel,) = proxy.notes.tunnels
    assert tunnel.origin == b"* OK ready\r\n"


def test_an_origin_that_wants_a_client_certificate_refuses_as_it_would_directly(
    proxied: StartProxy, start_origin: StartOrigin, authority: CertificateAuthority, trust: str
) -> None:
    """In TLS 1.3 it says so after the client's handshake is over."""
    context = authority.leaf(NAME).server_context(client_authority=authority.pem)
    origin = start_origin(serve(replies.text("never")), tls=context)
    proxy = proxied(overriding(origin, trust_file=trust))
    with proxy.secure(proxy.tunnel(NAME, 443), NAME) as agent:
        agent.sendall(f"GET / HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode())
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            assert proxy.read_all(agent) == b""
    assert proxy.notes.gaps == []


def test_what_an_agent_says_before_its_upgrade_is_answered_belongs_to_the_other_protocol(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n"

    def switches(connection: Connection) -> None:
        connection.read_request()
        assert connection.read_until(b"early ") == b"early "
        connection.send(switching)
        assert connection.read_until(b"late") == b"late"

    proxy = proxied(overriding(start_origin(switches)))
    upgrade = f"GET / HTTP/1.1\r\nHost: {NAME}\r\nUpgrade: other\r\n\r\n".encode()
    with proxy.tunnel(NAME, 80) as agent:
        agent.sendall(upgrade + b"early ")
        assert proxy.read_head(agent) == switching
        agent.sendall(b"late")
        assert proxy.read_all(agent) == b""
    (noted,) = proxy.exchanges()
    assert noted.after["agent"] == b"early late"


@pytest.mark.parametrize("form", [b"CONNECT %b:80", b"GET http://%b/"])
def test_a_fault_of_our_own_resets_the_connection_and_is_told(
    proxied: StartProxy, form: bytes
) -> None:
    """Whatever it is, the agent is not left waiting."""
    proxy = proxied(UpstreamSettings())

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    proxy.notes.session = fails
    with proxy.connect() as agent:
        agent.sendall(form % NAME.encode() + b" HTTP/1.1\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            agent.recv(1)
    assert proxy.notes.gaps == ["a connection could not be served: ZeroDivisionError()"]


def test_a_closed_connection_lingers_no_longer_than_the_agent_keeps_it(
    proxied: StartProxy, start_origin: StartOrigin
) -> None:
    origin = start_origin([READ, b"HTTP/1.0 200 OK\r\n\r\nall", CLOSE])
    proxy = proxied(overriding(origin))
    with proxy.tunnel(NAME, 80) as agent:
        agent.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert proxy.read_all(agent).endswith(b"all")
        agent.sendall(b"nobody reads this")
    assert proxy.exchanges()[0].ended == "complete"


@pytest.mark.parametrize(
    ("target", "status"),
    [("a..b:443", 502), (f"{'a' * 64}.example:443", 502), (f"{NAME}:99999", 400), (":443", 400)],
)
def test_what_cannot_be_an_origin_is_refused(proxied: StartProxy, target: str, status: int) -> None:
    proxy = proxied(UpstreamSettings())
    with proxy.connect() as agent:
        agent.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        assert proxy.read_all(agent).startswith(b"HTTP/1.1 %d " % status)
    assert [phase for phase, _, _ in proxy.notes.failures] == ["resolve"] * (status == 502)
