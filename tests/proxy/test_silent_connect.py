"""CONNECT without an answer: what a probe sends beneath its client (`Rerail-Answer: none`)."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from rerail.proxy.front import Listening
from rerail.proxy.reach import UpstreamSettings
from rerail.testing.ca import CertificateAuthority
from rerail.testing.origin import READ, Origin

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ASKING = b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"


def greeting(host: str, port: int, *, token: str = "tok") -> bytes:
    pair = base64.b64encode(f"p7:{token}".encode()).decode()
    lines = (
        f"CONNECT {host}:{port} HTTP/1.1",
        f"Host: {host}:{port}",
        f"Proxy-Authorization: Basic {pair}",
        "Rerail-Answer: none",
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_the_origins_bytes_are_the_first_that_come_back(
    proxied: Callable[..., Any], start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin([READ, REPLY])
    settings = UpstreamSettings(overrides={("api.example.com", 80): origin.address})
    proxy = proxied(settings, Listening(token="tok"))
    with proxy.connect() as agent:
        agent.sendall(greeting("api.example.com", 80) + ASKING)
        assert proxy.read_head(agent).startswith(b"HTTP/1.1 200 OK\r\n")
    assert proxy.notes.exchanges[0].route.process_id == 7


def test_tls_may_follow_at_once(
    proxied: Callable[..., Any],
    start_origin: Callable[..., Origin],
    authority: CertificateAuthority,
    authority_file: Any,
) -> None:
    origin = start_origin([READ, REPLY], tls=authority.leaf("api.example.com"))
    overrides = {("api.example.com", 443): origin.address}
    settings = UpstreamSettings(overrides=overrides, trust_file=str(authority_file))
    proxy = proxied(settings, Listening(token="tok"))
    with proxy.connect() as agent:
        agent.sendall(greeting("api.example.com", 443))
        with proxy.secure(agent, "api.example.com") as secured:
            secured.sendall(ASKING)
            assert proxy.read_head(secured).startswith(b"HTTP/1.1 200 OK\r\n")


def test_an_origin_that_cannot_be_reached_is_a_reset(
    proxied: Callable[..., Any], start_origin: Callable[..., Origin]
) -> None:
    closed = start_origin([READ, REPLY])
    address = closed.address
    closed.close()
    settings = UpstreamSettings(overrides={("api.example.com", 80): address})
    proxy = proxied(settings, Listening(token="tok"))
    with proxy.connect() as agent:
        agent.sendall(greeting("api.example.com", 80))
        with pytest.raises(ConnectionResetError):
            agent.recv(1)


def test_a_wrong_token_is_a_reset(proxied: Callable[..., Any]) -> None:
    proxy = proxied(UpstreamSettings(), Listening(token="tok"))
    with proxy.connect() as agent:
        agent.sendall(greeting("api.example.com", 80, token="other"))
        with pytest.raises(ConnectionResetError):
            agent.recv(1)


@pytest.mark.parametrize(
    ("told", "gap"),
    [
        ("41 python3.12", "python3.12 (41) of p7 to 192.0.2.1:5432"),
        ("x \xff", "\ufffd (0) of p7 to 192.0.2.1:5432"),
    ],
)
def test_a_probe_tells_of_what_passes_by(proxied: Callable[..., Any], told: str, gap: str) -> None:
    proxy = proxied(UpstreamSettings(), Listening(token="tok"))
    with proxy.connect() as probe:
        line = f"Rerail-Passed: {told}\r\n\r\n".encode("latin-1")
        probe.sendall(greeting("192.0.2.1", 5432).removesuffix(b"\r\n") + line)
        assert probe.recv(1) == b""
    assert proxy.notes.gaps == [gap]


def test_a_stranger_tells_nothing(proxied: Callable[..., Any]) -> None:
    proxy = proxied(UpstreamSettings(), Listening(token="tok"))
    with proxy.connect() as probe:
        line = b"Rerail-Passed: 41 python3\r\n\r\n"
        probe.sendall(greeting("192.0.2.1", 1, token="no").removesuffix(b"\r\n") + line)
        with pytest.raises(ConnectionResetError):
            probe.recv(1)
    assert proxy.notes.gaps == []
