"""One end of a connection: what comes reaches its owner whole, and stays what it was."""

import asyncio
import os
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps

import pytest

from rerail.proxy.channel import RECORD_SIZE, Channel
from rerail.testing.ca import CertificateAuthority


def in_a_loop(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*arguments: object, **named: object) -> None:
        asyncio.run(test(*arguments, **named))

    return run


class Transport(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def taken(self) -> bytes:
        data, self.written = self.written, b""
        return data


class Owner:
    """An owner that keeps what it is told."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.over = 0

    def received(self, data: bytes) -> None:
        self.pieces.append(data)

    def ended(self) -> None:
        self.over += 1

    def lost(self, error: Exception | None) -> None:
        self.over += 1

    def writable(self, ready: bool) -> None:
        raise AssertionError("nothing is written that much")


def opened() -> tuple[Channel, Owner, Transport]:
    owner, transport = Owner(), Transport()
    channel = Channel(owner)
    channel.connection_made(transport)
    return channel, owner, transport


def deliver(channel: Channel, data: bytes) -> None:
    """What the event loop does with what it has read."""
    while data:
        buffer = channel.get_buffer(-1)
        piece, data = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(piece)] = piece
        channel.buffer_updated(len(piece))


@in_a_loop
async def test_what_one_connection_was_given_is_not_changed_by_another() -> None:
    (one, owner, _), (other, others, _) = opened(), opened()
    for turn in range(3):
        deliver(one, b"one %d" % turn)
        deliver(other, b"the other %d" % turn)
    assert owner.pieces == [b"one 0", b"one 1", b"one 2"]
    assert others.pieces == [b"the other 0", b"the other 1", b"the other 2"]


class Secured:
    """A channel that has begun TLS with a server in this very test."""

    def __init__(self, authority: CertificateAuthority) -> None:
        self.channel, self.owner, self.transport = opened()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = authority.leaf("api.example.com").server_context()
        self.server = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._trust = ssl.create_default_context(cadata=authority.pem.decode())

    async def begin(self) -> None:
        handshake = asyncio.ensure_future(
            self.channel.start_tls(self._trust, server_hostname="api.example.com")
        )
        for _ in range(4):
            await asyncio.sleep(0)
            self._incoming.write(self.transport.taken())
            with suppress(ssl.SSLWantReadError):
                self.server.do_handshake()
            deliver(self.channel, self.sent())
        await handshake

    def sent(self) -> bytes:
        return self._outgoing.read()


@pytest.mark.parametrize("size", [1, RECORD_SIZE, RECORD_SIZE + 1, 5 * RECORD_SIZE + 7])
@in_a_loop
async def test_tls_is_read_to_its_last_record(authority: CertificateAuthority, size: int) -> None:
    secured = Secured(authority)
    await secured.begin()
    content = os.urandom(size)
    secured.server.write(content)
    records = secured.sent()
    deliver(secured.channel, records[:-3])
    deliver(secured.channel, records[-3:])
    assert b"".join(secured.owner.pieces) == content
    assert not secured.owner.over


@in_a_loop
async def test_the_end_of_tls_is_seen_behind_the_last_bytes(
    authority: CertificateAuthority,
) -> None:
    secured = Secured(authority)
    await secured.begin()
    secured.server.write(b"the last words")
    with pytest.raises(ssl.SSLWantReadError):
        secured.server.unwrap()
    deliver(secured.channel, secured.sent())
    assert secured.owner.pieces == [b"the last words"]
    assert (secured.owner.over, secured.channel.truncated) == (1, False)


@in_a_loop
async def test_tls_that_breaks_off_is_truncated(authority: CertificateAuthority) -> None:
    secured = Secured(authority)
    await secured.begin()
    secured.server.write(b"half of it")
    deliver(secured.channel, secured.sent())
    assert not secured.owner.over
    secured.channel.eof_received()
    assert secured.owner.pieces == [b"half of it"]
    assert (secured.owner.over, secured.channel.truncated) == (1, True)


class Gone(asyncio.Transport):
    """A connection whose peer has reset it, before the event loop has noticed."""

    def write_eof(self) -> None:
        raise OSError(107, "Transport endpoint is not connected")

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return False

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize("end", ["write_end", "cut", "close"])
def test_a_peer_that_is_gone_is_no_error(end: str) -> None:
    async def meet() -> None:
        channel = Channel(lingers=True)
        channel.connection_made(Gone())
        getattr(channel, end)()

    asyncio.run(meet())
