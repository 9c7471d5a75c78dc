"""Request heads as they are compared: credentials replaced, read once, remembered.

The heads of one client differ in little but the body's length, which is not compared. So a head is
remembered without it, and what comes again need be neither cleaned nor read. Knows no bodies.
"""

import re
from typing import Final

from msgspec import Struct

from rerail.compare.canon import Request
from rerail.proxy.handler import Route
from rerail.redact.apply import Redactor
from rerail.wire.http1 import Head, parse_head

_LENGTH: Final = re.compile(rb"\n(?i:content-length):[ \t]*([0-9]+)[ \t]*\r?\n(?![ \t])")
_REMEMBERED: Final = 256
_LARGEST: Final = 1 << 13


class Asked(Struct, frozen=True):
    """A head that was read: `request` is the request without its body.

    `expects`: the client waits for an interim reply before it sends its body.
    """

    head: Head
    request: Request
    expects: bool


class AskedHeads:
    """Reads heads; forgets all that it remembers when there are too many."""

    __slots__ = ("_read", "_redactor")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._read: dict[tuple[bytes, str, str, int, int], Asked] = {}

    def read(self, raw: bytes, route: Route) -> Asked:
        """A head as sent on this route, as it is compared."""
        length = _LENGTH.search(raw)
        if length is not None:
            raw = raw[: length.start(1)] + raw[length.end(1) :]
        key = (raw, route.scheme, route.host, route.port, route.process_id)
        asked = self._read.get(key)
        if asked is None:
            asked = self._cleaned(raw, route)
            if len(self._read) >= _REMEMBERED:
                self._read.clear()
            if len(raw) <= _LARGEST:
                self._read[key] = asked
        return asked

    def _cleaned(self, raw: bytes, route: Route) -> Asked:
        head = parse_head(self._redactor.head(raw))
        request = Request.read(
            head,
            scheme=route.scheme,
            host=route.host,
            port=route.port,
            process_id=route.process_id,
        )
        return Asked(head, request, head.get(b"expect") is not None)
