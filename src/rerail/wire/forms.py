"""The forms of a request target (RFC 9112 section 3.2), and heads rewritten from one to another.

A proxy has to change a head in just these ways; everything else of it stays byte for byte.
"""

import re
from functools import cache, lru_cache
from urllib.parse import urlsplit

from rerail.wire.http1 import Head, request_line

DEFAULT_PORTS = {"http": 80, "https": 443}

_FOR_THE_PROXY = frozenset({b"proxy-authorization", b"proxy-connection"})
_HOST_TOO = _FOR_THE_PROXY | {b"host"}


def split_authority(authority: str, default_port: int) -> tuple[str, int]:
    """`host:port` or `[v6]:port` as (host in lower case, port); port 0 where it is no number."""
    host, colon, port = authority.rpartition(":")
    if not colon or "]" in port:
        host, port = authority, str(default_port)
    number = int(port) if port.isascii() and port.isdigit() and len(port) < 6 else 0
    return host.strip("[]").lower(), number if number < 1 << 16 else 0


@lru_cache(maxsize=1024)
def split_absolute(target: bytes) -> tuple[str, str, int, bytes] | None:
    """An absolute-form target as (scheme, host, port, origin-form target); None if it is none."""
    scheme, slashes, rest = target.partition(b"://")
    name = scheme.decode("latin-1").lower()
    if not slashes or name not in ("http", "https", "ws", "wss"):
        return None
    name = {"ws": "http", "wss": "https"}.get(name, name)
    cut = min((at for at in map(rest.find, (b"/", b"?", b"#")) if at >= 0), default=len(rest))
    authority = rest[:cut].rpartition(b"@")[2].decode("latin-1")
    host, port = split_authority(authority, DEFAULT_PORTS[name])
    path = rest[cut:].partition(b"#")[0]
    return name, host, port, path if path.startswith(b"/") else b"/" + path


def split_url(url: str) -> tuple[str, str, int] | None:
    """A base URL as (scheme, host, port); None if it is no http or https URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port or DEFAULT_PORTS[parts.scheme]


def with_target(head: Head, target: bytes, *, extra: tuple[bytes, bytes] | None = None) -> Head:
    """The head with another target, without what is for a proxy, and with one more header."""
    line = request_line(head)
    version = b" " + line.version if line.version else b""
    return _rebuilt(head, line.method + b" " + target + version, _FOR_THE_PROXY, extra)


def with_host(head: Head, host: bytes) -> Head:
    """The head with another Host header, first in its section."""
    return _rebuilt(head, head.start, _HOST_TOO, (b"Host", host))


@cache
def _lines_of(names: frozenset[bytes]) -> re.Pattern[bytes]:
    """The lines of these headers, and those that they are folded onto (RFC 9112 section 5.2)."""
    either = b"|".join(sorted(names))
    return re.compile(rb"(?im)^(?:%b)[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*" % either)


def _rebuilt(
    head: Head, start: bytes, dropped: frozenset[bytes], extra: tuple[bytes, bytes] | None
) -> Head:
    """A head whose lines are as sent but for the start line, the dropped headers and one more."""
    first, newline, section = head.raw.partition(b"\n")
    ending = b"\r\n" if first.endswith(b"\r") else newline
    added = b"%b: %b%b" % (*extra, ending) if extra else b""
    headers = [pair for pair in head.headers if pair[0].lower() not in dropped]
    if len(headers) < len(head.headers):
        section = _lines_of(dropped).sub(b"", section)
    raw = start + ending + added + section
    return Head(raw, start, (extra, *headers) if extra else tuple(headers))
