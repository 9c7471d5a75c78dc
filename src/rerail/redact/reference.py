"""The stable reference that stands where a secret stood, in its two spellings.

On the tape it is `⟦redacted:<what>:<12 hex digits>⟧`: no text an agent or a provider writes looks
like it. On the wire of a replay it is `redacted.<what>.<12 hex digits>`: header values beyond ASCII
break clients (httpx cannot send back a cookie that holds one). The digits are a keyed hash of the
secret, so the same secret has the same digits wherever it stands on one tape. Knows no rules.
"""

import hmac
from typing import Final

from rerail.redact.lazy import Lazy

PLACEHOLDER: Final = Lazy("⟦redacted:([a-z0-9-]{1,40}):([0-9a-f]{12})⟧".encode())
STAND_IN: Final = Lazy(rb"\bredacted\.([a-z0-9-]{1,40})\.([0-9a-f]{12})\b")

_NOT_PLAIN = Lazy(rb"[^a-z0-9]+")
_KEPT = 1024


def to_wire(content: bytes) -> bytes:
    """Spell every placeholder in ASCII, for a head that is played back to a client."""
    if b"redacted:" not in content:
        return content
    return PLACEHOLDER.compiled.sub(rb"redacted.\1.\2", content)


def text_to_wire(text: str) -> str:
    """The same for an argument of a command that is run again: it may go into a header."""
    return to_wire(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def from_wire(content: bytes) -> bytes:
    """Undo `to_wire`: what a client sends back is the placeholder that it was once told."""
    if b"redacted." not in content:
        return content
    return STAND_IN.compiled.sub("⟦redacted:\\1:\\2⟧".encode(), content)


class References:
    """Makes references with one run's key (any bytes; 32 random ones), which is not on the tape."""

    __slots__ = ("_key", "_made")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._made: dict[tuple[bytes, bytes], bytes] = {}

    def of(self, what: bytes, secret: bytes) -> bytes:
        """The placeholder of a secret; `what` says where it stood. A placeholder stays itself."""
        made = self._made.get((what, secret))
        if made is None:
            made = self._make(what, secret)
            if len(self._made) >= _KEPT:
                self._made.clear()
            self._made[what, secret] = made
        return made

    def _make(self, what: bytes, secret: bytes) -> bytes:
        if PLACEHOLDER.compiled.fullmatch(secret):
            return secret
        name = _NOT_PLAIN.compiled.sub(b"-", what.lower()).strip(b"-")[:40] or b"secret"
        digits = hmac.digest(self._key, secret, "sha256").hex()[:12].encode()
        return "⟦redacted:".encode() + name + b":" + digits + "⟧".encode()
