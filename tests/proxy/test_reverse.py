"""Ports that stand for origins: read from a tape, and meant the same with a proxy in between."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from rerail.proxy.handler import Listening
from rerail.proxy.reach import UpstreamSettings
from rerail.proxy.reverse import MOST, described, meant, recorded
from rerail.testing import replies
from rerail.testing.ca import CertificateAuthority
from rerail.testing.origin import Origin
from rerail.testing.replies import serve

NAME = "api.example.com"
ORIGIN = ("https", NAME, 443)
CREDENTIALS = b"Proxy-Authorization: Basic " + base64.b64encode(b"p7:tok") + b"\r\n"


def test_what_a_tape_says_of_them_reads_back() -> None:
    reverse = {8080: ORIGIN, 9090: ("http", "::1", 80)}
    assert recorded({"http": "proxy variables", **described(reverse)}) == reverse


@pytest.mark.parametrize(
    "capture",
    [{"reverse": "x"}, {"reverse x": "http://a"}, {"reverse 0": "http://a"}, {"reverse 1": "no"}],
)
def test_what_cannot_be_read_is_left_out(capture: dict[str, str]) -> None:
    assert recorded(capture) == {}


def test_only_this_machines_loopback_means_one_of_them() -> None:
    assert meant({8080: ORIGIN}, "localhost", 8080) == ORIGIN
    assert meant({8080: ORIGIN}, "192.0.2.1", 8080) is None
    assert meant({8080: ORIGIN}, "127.0.0.1", 8081) is None


@pytest.mark.parametrize("tunnelled", [False, True], ids=["absolute form", "CONNECT"])
def test_a_client_that_obeys_proxy_variables_means_the_origin_too(
    proxied: Callable[..., Any],
    start_origin: Callable[..., Origin],
    authority: CertificateAuthority,
    authority_file: Any,
    tunnelled: bool,
) -> None:
    origin = start_origin(serve(replies.text("base url")), tls=authority.leaf(NAME))
    overrides = {(NAME, 443): origin.address}
    settings = UpstreamSettings(overrides=overrides, trust_file=str(authority_file))
    proxy = proxied(settings, Listening(token="tok", others={8080: ORIGIN}))
    with proxy.connect() as agent:
        target = b"/v1" if tunnelled else b"http://127.0.0.1:8080/v1"
        own = b"" if tunnelled else CREDENTIALS
        if tunnelled:
            agent.sendall(b"CONNECT 127.0.0.1:8080 HTTP/1.1\r\n%b\r\n" % CREDENTIALS)
            assert proxy.read_head(agent).startswith(b"HTTP/1.1 200 ")
        head = b"GET %b HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n%bConnection: close\r\n\r\n"
        agent.sendall(head % (target, own))
        assert proxy.read_all(agent).endswith(b"base url")
    (exchange,) = proxy.exchanges()
    route = exchange.route
    assert (route.scheme, route.host, route.port, route.process_id) == (*ORIGIN, 7)
    assert origin.received[0].startswith(b"GET /v1 HTTP/1.1\r\nHost: api.example.com\r\n")
    assert b"Proxy-" not in origin.received[0]


def test_no_tape_makes_a_replay_listen_on_every_port() -> None:
    assert len(recorded({f"reverse {port}": "http://a" for port in range(1, 1000)})) == MOST
