"""The forms of a request target (RFC 9112 section 3.2), and heads rewritten from one to another.

A proxy has to change a head in just these ways; everything else of it stays byte for byte.
"""

from urllib.parse import urlsplit

from rerail.wire.http1 import Head, request_line

DEFAULT_PORTS = {"http": 80, "https": 443}
_FOR_THE_PROXY = frozenset((b"proxy-authorization", b"proxy-connection"))


def split_authority(authority: str, default_port: int) -> tuple[str, int]:
    """`host:port` or `[v6]:port` as (host in lower case, port); port 0 where it is no number."""
    host, colon, port = authority.rpartition(":")
    if not colon or "]" in port:
        host, port = authority, str(default_port)
    number = int(port) if port.isdigit() and len(port) < 6 else 0
    return host.strip("[]").lower(), number


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
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme]


def with_target(head: Head, target: bytes, *, extra: bytes = b"") -> bytes:
    """The head with another target, without what is for a proxy; `extra` is one header line."""
    line = request_line(head)
    version = b" " + line.version if line.version else b""
    return _rebuilt(head, line.method + b" " + target + version, _FOR_THE_PROXY, extra)


def with_host(head: Head, host: bytes) -> bytes:
    """The head with another Host header, at the end of the header section's first line."""
    return _rebuilt(head, head.start, _FOR_THE_PROXY | {b"host"}, b"Host: " + host)


def _rebuilt(head: Head, start: bytes, dropped: frozenset[bytes], extra: bytes) -> bytes:
    """A head whose lines are as sent but for the start line, the dropped headers and one more."""
    lines = head.raw.split(b"\n")
    ending = b"\r\n" if lines[0].endswith(b"\r") else b"\n"
    kept = [start + ending.removesuffix(b"\n")]
    if extra:
        kept.append(extra + ending.removesuffix(b"\n"))
    dropping = False
    for line in lines[1:]:
        if line[:1] not in (b" ", b"\t"):
            dropping = line.partition(b":")[0].strip(b" \t").lower() in dropped
        if not dropping:
            kept.append(line)
    return b"\n".join(kept)
