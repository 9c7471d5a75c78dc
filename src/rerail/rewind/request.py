"""A request as sent, with another body: head and framing made to fit. Bytes in, bytes out."""

from collections.abc import Callable
from typing import Final

from rerail.wire.coding import decode
from rerail.wire.http1 import Data, Head, HeadSeen, RequestScanner

_OF_THE_OLD_BODY: Final = frozenset(
    (b"content-length", b"transfer-encoding", b"content-encoding", b"content-md5", b"trailer",
     b"digest", b"content-digest", b"expect")
)  # fmt: skip
"""Headers that say something of the body that was sent, or of how it was sent."""


class NotReadable(ValueError):
    """The request cannot be read; the message says why."""


def with_body(raw: bytes, change: Callable[[bytes], bytes]) -> tuple[bytes, bytes]:
    """The whole request with its body changed, and the new body.

    The body is given to `change` with its content coding undone, and sent without one. All other
    headers stay as they are, in their order.

    Raises:
        NotReadable: This is no whole request, or its content coding is not known.
    """
    head, body = _read(raw)
    codings = b", ".join(head.get_all(b"content-encoding")).decode("latin-1")
    plain = decode(body, codings)
    if plain is None:
        raise NotReadable(f"its content coding `{codings}` cannot be undone")
    changed = change(plain)
    lines = [head.start, *(b"%b: %b" % header for header in _kept(head))]
    lines.append(b"Content-Length: %d" % len(changed))
    return b"\r\n".join(lines) + b"\r\n\r\n" + changed, changed


def _read(raw: bytes) -> tuple[Head, bytes]:
    head: Head | None = None
    body: list[bytes] = []
    for event in RequestScanner().feed(raw):
        if isinstance(event, HeadSeen) and head is None:
            head = event.head
        elif isinstance(event, Data):
            body.append(event.payload)
    if head is None:
        raise NotReadable("it has no head")
    return head, b"".join(body)


def _kept(head: Head) -> list[tuple[bytes, bytes]]:
    return [header for header in head.headers if header[0].lower() not in _OF_THE_OLD_BODY]
