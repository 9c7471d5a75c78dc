import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection
from rerail.testing.forward_proxy import relay_to
from rerail.testing.origin import CLOSE, HOLD, Origin
from rerail.testing.replies import BLOCK, echo, head, serve

Start = Callable[..., Origin]
BLOCKS = 60


def test_both_directions_run_at_once_in_two_threads(
    start_origin: Start, authority: CertificateAuthority
) -> None:
    read: list[int] = []

    def both(connection: Connection) -> None:
        def listen() -> None:
            read.append(len(connection.read_exactly(BLOCKS * len(BLOCK))))

        listening = threading.Thread(target=listen)
        listening.start()
        for _ in range(BLOCKS):
            connection.send(BLOCK)
        listening.join()

    origin = start_origin(both, tls=authority.leaf("a.example"))
    sent = threading.Event()
    with socket.create_connection(origin.address, 20) as plain:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        inside = authority.client_context().wrap_bio(
            incoming, outgoing, server_hostname="a.example"
        )
        received = _talk(plain, inside, incoming, outgoing, BLOCKS * len(BLOCK), sent)
    assert received == BLOCKS * len(BLOCK)
    origin.wait_until(lambda seen: bool(read))
    assert read == [BLOCKS * len(BLOCK)]


def _talk(
    plain: socket.socket,
    inside: ssl.SSLObject,
    incoming: ssl.MemoryBIO,
    outgoing: ssl.MemoryBIO,
    size: int,
    sent: threading.Event,
) -> int:
    """A client that writes `size` bytes in one thread while it reads in this one."""
    state = threading.Lock()

    def take() -> None:
        incoming.write(plain.recv(1 << 16))

    while True:
        try:
            inside.do_handshake()
            break
        except ssl.SSLWantReadError:
            plain.sendall(outgoing.read())
            take()
    plain.sendall(outgoing.read())

    def write() -> None:
        for _ in range(size // len(BLOCK)):
            with state:
                inside.write(BLOCK)
                sealed = outgoing.read()
            plain.sendall(sealed)
        sent.set()

    threading.Thread(target=write, daemon=True).start()
    received = 0
    while received < size:
        with suppress(ssl.SSLWantReadError), state:
            received += len(inside.read(1 << 16))
            continue
        data = plain.recv(1 << 16)
        with state:
            incoming.write(data)
    assert sent.wait(20)
    return received


def test_a_relay_closes_its_tls_end_when_the_plain_server_is_done(
    start_origin: Start, authority: CertificateAuthority
) -> None:
    plain = start_origin([head(200, [("Connection", "close")]), b"all", CLOSE])
    front = start_origin(relay_to(plain.address), tls=authority.leaf("a.example"))
    context = authority.client_context()
    for _ in range(20):
        with (
            socket.create_connection(front.address, 5) as raw,
            context.wrap_socket(
                raw, server_hostname="a.example", suppress_ragged_eofs=False
            ) as peer,
        ):
            said = b""
            while part := peer.recv(100):
                said += part
        assert said.endswith(b"all")


def test_a_failed_handshake_tells_the_client_why(
    start_origin: Start, authority: CertificateAuthority
) -> None:
    context = authority.leaf("a.example").server_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    origin = start_origin([HOLD], tls=context)
    old = authority.client_context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        socket.create_connection(origin.address, 5) as raw,
        pytest.raises(ssl.SSLError, match=r"(?i)protocol version"),
    ):
        old.wrap_socket(raw, server_hostname="a.example")
    assert origin.connections == 1
    origin.wait_until(lambda seen: len(seen.handshake_failures) == 1)


def test_what_is_no_tls_fails_the_handshake(
    start_origin: Start, authority: CertificateAuthority
) -> None:
    origin = start_origin(serve(echo), tls=authority.leaf("a.example"))
    with socket.create_connection(origin.address, 5) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while raw.recv(100):
            pass
    origin.wait_until(lambda seen: len(seen.handshake_failures) == 1)
    assert origin.requests == []
