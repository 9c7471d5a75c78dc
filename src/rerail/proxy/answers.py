"""What the proxy itself says to an agent, and how it knows that the caller is one of ours."""

import base64
import binascii
from functools import lru_cache
from typing import Final

from rerail.wire.http1 import Head

ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
NOT_OURS: Final = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\n"
    b'Proxy-Authenticate: Basic realm="rerail"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
)
HANDSHAKE_FAILURE: Final = b"\x15\x03\x03\x00\x02\x02\x28"
"""A fatal TLS alert, before there is any encryption (RFC 8446 section 6.2)."""


def refusal(status: bytes, text: str) -> bytes:
    """A whole reply in which rerail says, in its own name, why it does not pass something on."""
    body = f"rerail: {text}\n".encode()
    return (
        b"HTTP/1.1 %b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
        % (
            status,
            len(body),
        )
        + b"Connection: close\r\n\r\n%b" % body
    )


def caller(head: Head, token: str) -> int | None:
    """The process that a request to the proxy port names, or None where its token is not ours.

    The proxy variables of a child read `http://p7:TOKEN@127.0.0.1:PORT`, so clients send the pair
    as Basic credentials (RFC 7617). An empty `token` lets everybody in.
    """
    return _named(head.get(b"proxy-authorization") or b"", token) if token else 0


@lru_cache(maxsize=256)
def _named(authorization: bytes, token: str) -> int | None:
    scheme, _, encoded = authorization.partition(b" ")
    try:
        user, _, password = base64.b64decode(encoded).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    if scheme.lower() != b"basic" or password != token:
        return None
    number = user.removeprefix("p")
    return int(number) if number.isdigit() and len(number) < 10 else 0
