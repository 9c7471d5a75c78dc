"""A request of rerail's own: the whole reply comes back, and a tap hears both, as with an agent."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.proxy.asking import NoReply, Reply, ask
from rerail.proxy.handler import Route
from rerail.proxy.reach import UpstreamProxy, UpstreamSettings
from rerail.proxy.upstream import Dialer
from rerail.testing import replies
from rerail.testing.ca import CertificateAuthority
from rerail.testing.forward_proxy import forward_proxy
from rerail.testing.origin import Origin
from rerail.testing.replies import Reply as Scripted
from rerail.testing.replies import serve

from .conftest import Notes

NAME = "api.example.com"
BODY = b'{"messages": []}'
REQUEST = (
    f"POST /v1/chat HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY
)

StartOrigin = Callable[..., Origin]


def asked(
    settings: UpstreamSettings, notes: Notes, *, scheme: str = "http", seconds: float = 20
) -> Reply:
    route = Route(1, scheme, NAME, 443 if scheme == "https" else 80)
    return ask(route, REQUEST, notes, Dialer(settings), seconds=seconds)  # type: ignore[arg-type]


def at(origin: Origin, **more: Any) -> UpstreamSettings:
    places = {(NAME, 80): origin.address, (NAME, 443): origin.address}
    return UpstreamSettings(overrides=places, **more)


@pytest.mark.parametrize(
    "reply",
    [
        replies.text("hello"),
        replies.chunked([b"hel", b"lo"]),
        replies.until_close([b"hello"]),
        replies.encoded(b"hello", "gzip"),
        replies.interim(103, replies.text("hello")),
    ],
    ids=["length", "chunked", "close", "gzip", "interim"],
)
def test_a_whole_reply_comes_back_and_the_tap_has_it(
    start_origin: StartOrigin, reply: Scripted
) -> None:
    settings = at(start_origin(serve(reply)))
    notes = Notes(settings)
    got = asked(settings, notes)
    assert (got.status, got.body) == (200, b"hello")
    (exchange,) = notes.exchanges
    assert exchange.request_body == BODY
    assert exchange.ended == "complete"


def test_a_refusal_is_a_reply(start_origin: StartOrigin) -> None:
    settings = at(start_origin(serve(replies.text("no", status=429))))
    assert asked(settings, Notes(settings)).status == 429


def test_https_is_verified(
    start_origin: StartOrigin, authority: CertificateAuthority, tmp_path: Path
) -> None:
    origin = start_origin(serve(replies.text("hello")), tls=authority.leaf(NAME))
    trust = str(authority.write(tmp_path / "authority.pem"))
    settings = at(origin, trust_file=trust)
    assert asked(settings, Notes(settings), scheme="https").body == b"hello"
    other = str(CertificateAuthority("another").write(tmp_path / "another.pem"))
    distrusting = at(origin, trust_file=other)
    with pytest.raises(NoReply, match="certificate") as caught:
        asked(distrusting, Notes(distrusting), scheme="https")
    assert not caught.value.sent


def test_a_proxy_on_the_way_is_taken(start_origin: StartOrigin) -> None:
    origin = start_origin(serve(replies.text("hello")))
    way = start_origin(forward_proxy(resolve={(NAME, 80): origin.address}))
    settings = UpstreamSettings(proxies={"http": UpstreamProxy(*way.address)})
    assert asked(settings, Notes(settings)).body == b"hello"


def test_nobody_there(free_port: int) -> None:
    settings = UpstreamSettings(overrides={(NAME, 80): ("127.0.0.1", free_port)})
    notes = Notes(settings)
    with pytest.raises(NoReply, match="cannot connect") as caught:
        asked(settings, notes)
    assert not caught.value.sent
    assert notes.failures[0][0] == "connect"


@pytest.mark.parametrize("how", ["close", "reset"])
def test_half_a_reply_is_none_and_the_tape_has_the_half(
    start_origin: StartOrigin, how: Any
) -> None:
    settings = at(start_origin(serve(replies.short_body(how=how))))
    notes = Notes(settings)
    with pytest.raises(NoReply) as caught:
        asked(settings, notes)
    assert caught.value.sent
    assert notes.exchanges[0].ended in ("cut", "reset")


def test_it_does_not_wait_for_ever(start_origin: StartOrigin) -> None:
    gate = threading.Event()
    settings = at(start_origin(serve(replies.when(gate, replies.text("late")))))
    notes = Notes(settings)
    try:
        with pytest.raises(NoReply, match=r"no reply within 0\.2 s"):
            asked(settings, notes, seconds=0.2)
    finally:
        gate.set()
    assert notes.exchanges[0].ended == "agent_closed"
