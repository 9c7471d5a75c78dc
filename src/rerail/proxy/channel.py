"""One TCP connection with, from any moment on, TLS over it. Knows no HTTP.

TLS runs over memory BIOs instead of `loop.start_tls`, because the peer's first TLS bytes often
arrive together with what came before them (a ClientHello in the segment of its CONNECT), and
`start_tls` cannot be handed bytes that were read already.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol
from weakref import WeakKeyDictionary

READ_SIZE: Final = 1 << 18
RECORD_SIZE: Final = 1 << 14
"""Bytes that a TLS record holds at most (RFC 8446 section 5.1): one is read at a time."""

LINGER_SECONDS: Final = 2.0
FLUSH_CHECK_SECONDS: Final = 0.005
FLUSH_CHECKS: Final = 400
"""How often it is looked whether a peer has read what it is to get before a reset: for 2 s."""


class Owner(Protocol):
    """Who is told what happens on a channel. All calls come from the event loop."""

    def received(self, data: bytes) -> None:
        """Bytes came, decrypted."""

    def ended(self) -> None:
        """The peer will send no more."""

    def lost(self, error: Exception | None) -> None:
        """The connection is gone; `error` says how, None after an orderly close."""

    def writable(self, ready: bool) -> None:
        """The peer reads slower than we write (False), or has caught up (True)."""


# What is read is consumed before anything else is read, so all channels of a loop share a buffer.
_buffers: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()


class Channel(asyncio.BufferedProtocol):
    """A connection: `transport` below, optionally TLS, an `owner` above that can change."""

    __slots__ = (
        "__weakref__", "_buffer", "_ended", "_handshake", "_incoming", "_lingering", "_lingers",
        "_lost", "_outgoing", "_postponed", "_tls", "owner", "transport", "truncated",
    )  # fmt: skip

    def __init__(self, owner: Owner | None = None, *, lingers: bool = False) -> None:
        """`lingers`: on closing, go on reading for a while, as a server must.

        RFC 9112 section 9.6: else the peer's unread bytes make a reset, which may destroy what it
        was told last, such as the reason why its upload is not wanted.
        """
        self.owner = owner
        self._lingers = lingers
        self._lingering: asyncio.TimerHandle | None = None
        self._postponed: list[Callable[[], None]] | None = None
        self.transport: asyncio.Transport | None = None
        self._tls: ssl.SSLObject | None = None
        self._handshake: asyncio.Future[None] | None = None
        self._incoming = self._outgoing = ssl.MemoryBIO()
        self._ended = False
        self._lost = False
        self.truncated = False
        """Whether the peer ended TLS without a close_notify, so that what it sent may be cut."""

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # TCP gives a Transport
        loop = asyncio.get_running_loop()
        buffer = _buffers.get(loop)
        if buffer is None:
            buffer = _buffers[loop] = memoryview(bytearray(READ_SIZE))
        self._buffer = buffer
        peer = transport.get_extra_info("socket")
        if peer is not None and peer.family in (socket.AF_INET, socket.AF_INET6):
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._lingering is not None:
            return
        data = self._buffer[:nbytes]
        if self._tls is None:
            if self.owner is not None:
                self.owner.received(bytes(data))
            return
        self._incoming.write(data)
        self._pump()

    def eof_received(self) -> bool:
        if self._lingering is not None:
            return False
        if self._tls is not None:
            self._incoming.write_eof()
            self._pump()
        self._end()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        if self._lingering is not None:
            self._lingering.cancel()
        if self._handshake is not None and not self._handshake.done():
            self._handshake.set_exception(error or ConnectionResetError("closed in the handshake"))
        if self.owner is not None:
            self.owner.lost(error)

    def pause_writing(self) -> None:
        if self.owner is not None:
            self.owner.writable(False)

    def resume_writing(self) -> None:
        if self.owner is not None:
            self.owner.writable(True)

    # What owners call.

    @property
    def local_address(self) -> tuple[str, int]:
        """Our own end: (address, port)."""
        name = self.transport.get_extra_info("sockname") if self.transport else None
        return (name[0], name[1]) if isinstance(name, tuple) else ("", 0)

    @property
    def alive(self) -> bool:
        """Whether bytes can still be written."""
        return self.transport is not None and not self._lost and not self.transport.is_closing()

    def write(self, data: bytes) -> None:
        """Send bytes; never blocks."""
        if self.transport is None or self._lost or self._lingering is not None or not data:
            return
        if self._postponed is not None:
            self._postponed.append(partial(self.write, data))
            return
        if self._tls is None:
            self.transport.write(data)
            return
        try:
            self._tls.write(data)
        except ssl.SSLError:
            return
        self._flush()

    def write_end(self) -> None:
        """Say that no more will be sent: half-close, or over TLS a close_notify."""
        if not self.alive or self.transport is None:
            return
        if self._postponed is not None:
            self._postponed.append(self.write_end)
        elif self._tls is not None:
            self._close_tls()
        elif self.transport.can_write_eof():
            self._half_close()

    def close(self) -> None:
        """Send what is queued, then close; called again, close at once."""
        if self._postponed is not None:
            self._postponed.append(self.close)
            return
        if self._tls is not None and not self._lost and self._lingering is None:
            self._close_tls()
        self.cut()

    def cut(self) -> None:
        """Send what is queued, then close without TLS's close_notify."""
        if self.transport is None or self._lost:
            return
        if self._postponed is not None:
            self._postponed.append(self.cut)
        elif self._lingers and not self._ended and self._lingering is None:
            loop = asyncio.get_running_loop()
            self._lingering = loop.call_later(LINGER_SECONDS, self.transport.close)
            self.transport.resume_reading()
            self._half_close()
        else:
            self.transport.close()

    def _half_close(self) -> None:
        assert self.transport is not None
        # The peer may be gone already, which the transport is told next.
        with suppress(OSError):
            self.transport.write_eof()

    def reset(self) -> None:
        """Drop the connection the hard way, once all is sent: the peer sees a reset (RST)."""
        self._reset(FLUSH_CHECKS)

    def _reset(self, checks: int) -> None:
        if self.transport is None or self._lost:
            return
        if checks and self.transport.get_write_buffer_size() and not self.transport.is_closing():
            loop = asyncio.get_running_loop()
            loop.call_later(FLUSH_CHECK_SECONDS, self._reset, checks - 1)
            return
        peer = self.transport.get_extra_info("socket")
        if peer is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def read_on(self, ready: bool) -> None:
        """Stop or go on reading from the peer."""
        if self.transport is None or self._lost or self.transport.is_closing():
            return
        if ready:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()

    def expect_tls(self) -> None:
        """TLS is about to begin: what is written before its handshake is over waits for that."""
        self._postponed = []

    def expect_no_tls(self) -> None:
        """TLS will not begin after all: what waited for it is dropped."""
        self._postponed = None

    async def start_tls(
        self,
        context: ssl.SSLContext,
        *,
        server_side: bool = False,
        server_hostname: str | None = None,
        early: bytes = b"",
    ) -> None:
        """Begin TLS; `early` are bytes of the handshake that were read already.

        Raises `ssl.SSLError` (`SSLCertVerificationError` among them) or `ConnectionError`.
        """
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=server_hostname
        )
        self._handshake = asyncio.get_running_loop().create_future()
        self._incoming.write(early)
        if self._ended:
            self._incoming.write_eof()
        self._pump()
        try:
            await self._handshake
        finally:
            postponed, self._postponed = self._postponed or [], None
        self._handshake = None
        for act in postponed:
            act()

    @property
    def peer_certificate(self) -> bytes:
        """The certificate that the peer showed (DER), empty without TLS."""
        return (self._tls and self._tls.getpeercert(binary_form=True)) or b""

    # TLS.

    def _flush(self) -> None:
        if self._outgoing.pending and self.transport is not None:
            self.transport.write(self._outgoing.read())

    def _pump(self) -> None:
        assert self._tls is not None
        if self._handshake is not None and not self._shake_hands(self._tls, self._handshake):
            return
        pieces: list[bytes] = []
        ended = False
        try:
            while piece := self._tls.read(RECORD_SIZE):
                pieces.append(piece)
                if not (self._incoming.pending or self._incoming.eof or self._tls.pending()):
                    break
            else:
                ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            # A peer that closes without close_notify, or speaks nonsense: the stream is over.
            ended = self.truncated = True
        self._flush()
        if pieces and self.owner is not None:
            self.owner.received(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if ended:
            self._end()

    def _shake_hands(self, tls: ssl.SSLObject, handshake: "asyncio.Future[None]") -> bool:
        if handshake.done():
            return handshake.exception() is None
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        except ssl.SSLError as error:
            self._flush()
            handshake.set_exception(error)
            return False
        self._flush()
        handshake.set_result(None)
        return True

    def _close_tls(self) -> None:
        assert self._tls is not None
        # Want-read is the ordinary case: our close_notify is in the outgoing buffer.
        with suppress(ssl.SSLError, OSError, ValueError):
            self._tls.unwrap()
        self._flush()

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        if self.owner is not None:
            self.owner.ended()
