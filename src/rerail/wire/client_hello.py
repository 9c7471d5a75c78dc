"""What the first bytes of a connection say: which protocol, and for TLS which host is asked for.

Bytes in, an answer out; never raises. Knows no sockets and does no cryptography: a ClientHello is
read as plain bytes, before and apart from the TLS library that will answer it.
"""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

Sniffed = Literal["tls", "http", "http2-preface", "unknown", "more"]

# How a client opens HTTP/2 where it knows it to be spoken (RFC 9113 section 3.4).
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

MAX_HELLO = 65_536  # bytes; a ClientHello with a post-quantum key share is below 2 000
MAX_RECORD = 16_384 + 2_048

_HANDSHAKE_RECORD = 22
_CLIENT_HELLO = 1
_SERVER_NAME, _ALPN, _SUPPORTED_VERSIONS = 0, 16, 43
_HOST_NAME = 0
_VISIBLE = re.compile(rb"[!-~]+")

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"  # tchar, RFC 9110 section 5.6.2
_KNOWN = rb"GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH"
# RFC 9112 section 2.2: a server "SHOULD ignore at least one empty line (CRLF)" before the line.
# A method this list does not know counts only with a target that no other protocol would send
# there: an SSH banner begins with a token and a space too.
_REQUEST = re.compile(
    rb"(?:\r?\n)*(?:(?:" + _KNOWN + rb") |" + _TOKEN + rb"{1,32} (?:/|\*|https?://))"
)
_REQUEST_BEGUN = re.compile(
    rb"(?:\r?\n)*\r?(?:" + _TOKEN + rb"{0,32}|" + _TOKEN + rb"{1,32} (?:h|ht|htt|https?:?/?)?)"
)


def sniff(data: bytes) -> Sniffed:
    """Say what a client has begun to speak; "more" where its first bytes do not yet decide."""
    if data[:1] == b"\x16":
        return "more" if len(data) == 1 else "tls" if data[1] == 3 else "unknown"
    if data[: len(HTTP2_PREFACE)] == HTTP2_PREFACE[: len(data)]:
        return "http2-preface" if len(data) >= len(HTTP2_PREFACE) else "more"
    if _REQUEST.match(data):
        return "http"
    return "more" if _REQUEST_BEGUN.fullmatch(data) else "unknown"


class ClientHello(Struct, frozen=True):
    """What a TLS client asks for (RFC 8446 section 4.1.2).

    `server_name` is the host of SNI (RFC 6066) as sent, None where there is none (a client that
    connects by address). `protocols` is the ALPN list in the client's order. `versions` holds the
    numbers of the wire: 0x0304 is TLS 1.3.
    """

    server_name: str | None
    protocols: tuple[bytes, ...]
    versions: tuple[int, ...]


def read_client_hello(data: bytes) -> ClientHello | Literal["more", "not_tls"]:
    """Read the ClientHello at the start of a connection's bytes.

    "more" where it is not complete yet. What follows it is not looked at. An extension that is
    malformed is passed over: the TLS library says what it thinks of it.
    """
    message = _handshake_message(data)
    if isinstance(message, str):
        return message
    try:
        return _hello(message)
    except _Short:
        return "not_tls"


class _Short(Exception):
    """A field ends behind the bytes that hold it."""


class _Fields:
    """Takes fields of stated lengths off the front of a message."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise _Short
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width))

    def vector(self, width: int) -> "_Fields":
        """A field that begins with its own length, of `width` bytes (RFC 8446 section 3.4)."""
        return _Fields(self.take(self.number(width)))

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)


def _handshake_message(data: bytes) -> bytes | Literal["more", "not_tls"]:
    """The first handshake message: it may lie in several records (RFC 8446 section 5.1)."""
    message = bytearray()
    at = 0
    while True:
        header = data[at : at + 5]
        size = int.from_bytes(header[3:5])
        plausible = header[:2] == b"\x16\x03"[: len(header)]
        if not plausible or (len(header) == 5 and not 0 < size <= MAX_RECORD):
            return "not_tls"
        message += data[at + 5 : at + 5 + size]
        needed = 4 + int.from_bytes(message[1:4])
        if message and (message[0] != _CLIENT_HELLO or needed > MAX_HELLO):
            return "not_tls"
        if len(message) >= max(needed, 4):
            return bytes(message[4:needed])
        if at + 5 + size >= len(data):
            return "more"
        at += 5 + size


def _hello(message: bytes) -> ClientHello:
    fields = _Fields(message)
    legacy_version = fields.number(2)
    fields.take(32)  # random
    fields.vector(1)  # legacy_session_id
    fields.vector(2)  # cipher_suites
    fields.vector(1)  # legacy_compression_methods
    server_name: str | None = None
    protocols: tuple[bytes, ...] = ()
    versions: tuple[int, ...] = (legacy_version,)
    for kind, content in _extensions(fields):
        try:
            if kind == _SERVER_NAME:
                server_name = _server_name(content)
            elif kind == _ALPN:
                protocols = tuple(_protocols(content))
            elif kind == _SUPPORTED_VERSIONS:
                versions = tuple(_versions(content))
        except _Short:
            continue
    return ClientHello(server_name, protocols, versions)


def _extensions(fields: _Fields) -> Iterator[tuple[int, _Fields]]:
    if not fields:  # before TLS 1.3 a hello could end without extensions
        return
    try:
        extensions = fields.vector(2)
        while extensions:
            yield extensions.number(2), extensions.vector(2)
    except _Short:
        return


def _server_name(content: _Fields) -> str | None:
    names = content.vector(2)
    while names:
        kind, name = names.number(1), names.vector(2).rest()
        if kind == _HOST_NAME and _VISIBLE.fullmatch(name):
            return name.decode("ascii")
    return None


def _protocols(content: _Fields) -> Iterator[bytes]:
    names = content.vector(2)
    while names:
        yield names.vector(1).rest()


def _versions(content: _Fields) -> Iterator[int]:
    numbers = content.vector(1)
    while numbers:
        yield numbers.number(2)
