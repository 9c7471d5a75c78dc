"""Messages by which two sides of a WebSocket say that they are still there. Knows no conversation.

They go by a timer, so a replay has more of them, or fewer, than its recording.
"""

from typing import Any, Final

import msgspec

RULE: Final = "keepalive"
LARGEST: Final = 128
"""Bytes; a longer message says something else too."""

_WORDS: Final = frozenset(("ping", "pong", "heartbeat", "keepalive", "keep_alive", "keep-alive"))
_FIELDS: Final = ("type", "event", "op", "method", "kind", "action")


def is_keepalive(payload: bytes) -> bool:
    """Whether a message is one of the known words, by itself or as what a JSON object is."""
    if not 0 < len(payload) <= LARGEST:
        return False
    try:
        text = payload.decode("ascii").strip().lower()
    except UnicodeDecodeError:
        return False
    if text in _WORDS:
        return True
    try:
        value: Any = msgspec.json.decode(payload)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    named = next((value[field] for field in _FIELDS if field in value), None)
    return isinstance(named, str) and named.lower() in _WORDS
