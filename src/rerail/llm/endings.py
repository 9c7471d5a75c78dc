"""Whether a streamed reply came to its last event. Knows the events, not who ended the connection.

Clients go away as soon as they have read that event, some with the connection: what they left is a
whole reply. That is a view; the fact, that the agent closed, stays as it is on the tape.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from rerail.errors import RerailError
from rerail.llm.steps import call_of
from rerail.tape.exchange import Exchange
from rerail.wire.coding import decode_part
from rerail.wire.http1 import parse_head
from rerail.wire.sse import events

_LAST: Final = frozenset(
    ("response.completed", "response.incomplete", "response.failed", "message_stop")
)
"""Types of events after which a reply of the Responses API, or of Anthropic's, has no other."""
_LARGEST: Final = 32 << 20


def whole_replies(exchanges: Iterable[Exchange], read: Callable[[bytes], bytes]) -> frozenset[int]:
    """The model calls (by exchange id) whose agent left after the last event of the reply.

    `read` gives a blob by its digest; one that cannot be read is no whole reply.
    """
    return frozenset(
        exchange.exchange_id for exchange in exchanges if _left_at_the_end(exchange, read)
    )


def _left_at_the_end(exchange: Exchange, read: Callable[[bytes], bytes]) -> bool:
    end = exchange.reply_body
    if end is None or end.ended != "agent_closed" or end.body is None or exchange.reply is None:
        return False
    call = call_of(exchange)
    if call is None or end.body.size > _LARGEST:
        return False
    try:
        body = read(end.body.digest)
    except RerailError:
        return False
    coding = (parse_head(exchange.reply.head).get(b"content-encoding") or b"").decode("latin-1")
    return is_whole(decode_part(body, coding).content if coding else body)


def is_whole(stream: bytes) -> bool:
    """Whether a stream of server-sent events, or of JSON lines, ends with its API's last one."""
    text = stream.replace(b"\r\n", b"\n")
    if not text.endswith(b"\n"):
        return False
    block = text.rstrip(b"\n").rpartition(b"\n\n")[2]
    found = list(events(block + b"\n\n"))
    if found:
        return text.endswith(b"\n\n") and _is_last(found[-1].data)
    return _is_last(block.rpartition(b"\n")[2].decode("utf-8", "replace"))


def _is_last(data: str) -> bool:
    if data == "[DONE]":
        return True
    try:
        value: Any = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if (isinstance(kind, str) and kind in _LAST) or value.get("done") is True:
        return True
    candidates = value.get("candidates")
    return isinstance(candidates, list) and any(
        isinstance(item, dict) and item.get("finishReason") for item in candidates
    )
