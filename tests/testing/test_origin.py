import socket
import ssl
import threading
from collections.abc import Callable

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection
from rerail.testing.origin import CUT, HOLD, READ, READ_HEAD, RESET, Origin

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def connect(origin: Origin) -> socket.socket:
    return socket.create_connection(origin.address, 5)


def read_all(peer: socket.socket) -> bytes:
    parts = []
    while part := peer.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def test_a_script_sends_its_bytes_and_closes() -> None:
    with Origin([READ, b"one", b" two"]) as origin, connect(origin) as peer:
        peer.sendall(GET)
        assert read_all(peer) == b"one two"
    assert origin.received == [GET]
    assert origin.connections == 1
    assert [request.method for request in origin.requests] == ["GET"]


def test_each_connection_plays_its_script_and_the_last_repeats() -> None:
    with Origin([b"first"], [b"later"]) as origin:
        said = []
        for _ in range(3):
            with connect(origin) as peer:
                said.append(read_all(peer))
    assert said == [b"first", b"later", b"later"]
    assert origin.connections == 3


def test_a_pause_separates_two_sends() -> None:
    with Origin([b"one", 0.05, b"two"]) as origin, connect(origin) as peer:
        assert peer.recv(16) == b"one"
        assert peer.recv(16) == b"two"
    first, second = origin.each_connection[0].sent
    assert second.at - first.at >= 50_000_000


def test_an_event_lets_the_test_say_when() -> None:
    gate = threading.Event()
    with Origin([gate, b"now"]) as origin, connect(origin) as peer:
        peer.settimeout(0.1)
        with pytest.raises(TimeoutError):
            peer.recv(16)
        gate.set()
        peer.settimeout(5)
        assert peer.recv(16) == b"now"


def test_a_reset_is_seen_as_a_reset() -> None:
    with (
        Origin([READ, RESET]) as origin,
        connect(origin) as peer,
        pytest.raises(ConnectionResetError),
    ):
        peer.sendall(GET)
        read_all(peer)


def test_over_tls_a_cut_is_no_close_notify(authority: CertificateAuthority) -> None:
    context = authority.client_context()
    with (
        Origin([b"half", CUT], tls=authority.leaf("a.example")) as origin,
        connect(origin) as plain,
        context.wrap_socket(plain, server_hostname="a.example", suppress_ragged_eofs=False) as peer,
    ):
        assert peer.recv(16) == b"half"
        with pytest.raises(ssl.SSLEOFError):
            peer.recv(16)


def test_over_tls_a_close_is_in_good_order(authority: CertificateAuthority) -> None:
    context = authority.client_context()
    with (
        Origin([b"whole"], tls=authority.leaf("a.example")) as origin,
        connect(origin) as plain,
        context.wrap_socket(plain, server_hostname="a.example", suppress_ragged_eofs=False) as peer,
    ):
        assert read_all(peer) == b"whole"


def test_a_head_can_be_read_without_its_body() -> None:
    with Origin([READ_HEAD, b"no thanks"]) as origin, connect(origin) as peer:
        peer.sendall(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
        assert peer.recv(16) == b"no thanks"
    assert origin.requests[0].body_size == 0


def test_closing_ends_a_script_that_would_hold_for_ever() -> None:
    origin = Origin([HOLD]).start()
    with connect(origin) as peer:
        origin.wait_until(lambda seen: seen.connections == 1)
        origin.close()
        assert peer.recv(1) == b""


def test_closing_ends_a_handshake_that_never_comes(authority: CertificateAuthority) -> None:
    origin = Origin([HOLD], tls=authority.leaf("a.example")).start()
    with connect(origin):
        origin.wait_until(lambda seen: seen.connections == 1)
        origin.close()


def test_a_fault_in_a_script_fails_the_test() -> None:
    def faulty(connection: Connection) -> None:
        raise KeyError("a mistake in the test")

    with (
        pytest.raises(KeyError, match="mistake"),
        Origin(faulty) as origin,
        connect(origin) as peer,
    ):
        assert read_all(peer) == b""


def test_a_peer_that_goes_away_is_no_fault() -> None:
    with Origin([READ, b"hello"]) as origin:
        connect(origin).close()
        origin.wait_until(lambda seen: seen.connections == 1)


def test_waiting_for_what_never_comes_times_out() -> None:
    with Origin([HOLD]) as origin, pytest.raises(TimeoutError):
        origin.wait_until(lambda seen: seen.connections == 1, seconds=0.05)


def test_an_origin_that_keeps_nothing_still_counts() -> None:
    with Origin([READ, b"x"], keep=0) as origin:
        for _ in range(2):
            with connect(origin) as peer:
                peer.sendall(GET)
                assert read_all(peer) == b"x"
    assert origin.connections == 2
    assert origin.received == []
    assert origin.requests == []


def test_it_listens_on_ipv6_loopback_too() -> None:
    try:
        origin = Origin([b"six"], host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with origin, connect(origin) as peer:
        assert read_all(peer) == b"six"
    assert origin.url == f"http://[::1]:{origin.port}"


def test_an_origin_without_a_script_is_refused() -> None:
    with pytest.raises(ValueError, match="script"):
        Origin()


def test_many_connections_at_once_are_all_served(start_origin: Callable[..., Origin]) -> None:
    origin = start_origin([READ, b"ok"])
    peers = [connect(origin) for _ in range(50)]
    for peer in peers:
        peer.sendall(GET)
    assert [read_all(peer) for peer in peers] == [b"ok"] * 50
    for peer in peers:
        peer.close()
