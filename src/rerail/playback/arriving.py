"""A request that an agent is making: put together as its bytes come, and as it is compared."""

import hashlib

from rerail.compare.body import READ_LIMIT
from rerail.compare.canon import Request
from rerail.playback.heads import Asked
from rerail.wire.http1 import Data


class Arriving:
    """A request whose body is coming; a body too large to compare is only hashed.

    `head` is compared, so its credentials are replaced as a recording's are; `raw` is as sent, and
    kept only where it may have to go on to its origin.
    """

    def __init__(self, asked: Asked, *, keep_raw: bool) -> None:
        self.head = asked.head
        self._without_body = asked.request
        self._raw: list[bytes] | None = [] if keep_raw else None
        self.answered = False
        self.interim_sent = 0
        self._pieces: list[bytes] = []
        self._size = 0
        self._hash = hashlib.sha256()

    def keep(self, raw: bytes) -> None:
        """Bytes as sent."""
        if self._raw is not None:
            self._raw.append(raw)

    @property
    def raw(self) -> bytes:
        """The request as sent; empty where it is not kept."""
        return b"".join(self._raw or ())

    def add(self, data: Data) -> None:
        """A piece of the body."""
        self.keep(data.raw)
        self._size += len(data.payload)
        self._hash.update(data.payload)
        if self._size <= READ_LIMIT:
            self._pieces.append(data.payload)
        else:
            self._pieces.clear()

    def request(self) -> Request:
        """What has come so far, as it is compared."""
        body = b"".join(self._pieces) if self._size <= READ_LIMIT else None
        return self._without_body.with_body(body, self._hash.digest(), self._size)
