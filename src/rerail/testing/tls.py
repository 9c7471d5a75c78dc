"""A TLS server's end that two threads may use at once; it must not know what goes through it.

OpenSSL allows one call at a time on a connection, and `ssl.SSLSocket` does not see to that in every
Python: a relay that reads in one thread and writes in another crashed the process. Here the TLS
state is worked in memory under a lock, and only the plain socket is waited on.
"""

import socket
import ssl
import threading
from typing import Final

READ_SIZE: Final = 1 << 16


class ServerTLS:
    """A TLS server's settings, which also notes the name that each client asked for."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._names: dict[int, str | None] = {}
        context.sni_callback = self._note

    def handshake(self, raw: socket.socket) -> tuple["TLSChannel", str | None]:
        """Do the handshake; returns the channel and the server name (SNI) asked for.

        Raises:
            OSError: It failed (`ssl.SSLError` is one), or the peer went away.
        """
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        inside = self._context.wrap_bio(incoming, outgoing, server_side=True)
        channel = TLSChannel(raw, inside, incoming, outgoing)
        try:
            channel.handshake()
        finally:
            name = self._names.pop(id(inside), None)
        return channel, name

    def _note(
        self, inside: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext
    ) -> None:
        self._names[id(inside)] = name


class TLSChannel:
    """An encrypted connection, over a plain socket that stays somebody else's."""

    def __init__(
        self,
        raw: socket.socket,
        inside: ssl.SSLObject,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
    ) -> None:
        self._raw = raw
        self._inside = inside
        self._incoming = incoming
        self._outgoing = outgoing
        self._state = threading.Lock()
        self._sending = threading.Lock()

    def handshake(self) -> None:
        """Do the handshake as the server; an alert is sent where it fails."""
        while True:
            try:
                with self._state:
                    self._inside.do_handshake()
                return
            except ssl.SSLWantReadError:
                pass
            finally:
                self._flush()
            self._listen()

    def receive(self) -> bytes:
        """What the peer said, decrypted; empty where it ended, with or without close_notify."""
        while True:
            with self._state:
                try:
                    return self._inside.read(READ_SIZE)
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return b""
            self._flush()
            self._listen()

    def send(self, data: bytes) -> None:
        """Encrypt and send, whole."""
        with self._sending:
            with self._state:
                self._inside.write(data)
                sealed = self._outgoing.read()
            self._raw.sendall(sealed)

    def say_goodbye(self) -> None:
        """Send close_notify, and do not wait for the peer's."""
        try:
            with self._state:
                self._inside.unwrap()
        except ssl.SSLError:
            pass  # the peer has not said its own goodbye yet
        self._flush()

    def _listen(self) -> None:
        data = self._raw.recv(READ_SIZE)
        with self._state:
            if data:
                self._incoming.write(data)
            else:
                self._incoming.write_eof()

    def _flush(self) -> None:
        with self._sending:
            with self._state:
                sealed = self._outgoing.read()
            if sealed:
                self._raw.sendall(sealed)
