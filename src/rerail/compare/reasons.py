"""By which named rules two requests are equal that are not byte for byte the same."""

from rerail.compare.canon import BodyKey, HeadKey, Request
from rerail.compare.keepalive import RULE as KEEPALIVE
from rerail.compare.recorded import Entry
from rerail.compare.redacted import blank_text
from rerail.compare.volatile import ignored

REDACTED = "redacted"
QUERY_ORDER = "query order"
CONTENT_CODING = "content coding"
SPELLING = {
    "json": "json spelling",
    "form": "form order",
    "multipart": "multipart boundary",
}

EXPLAINED = {
    REDACTED: "a redacted value stands for any value of its kind, the same one through the run",
    QUERY_ORDER: "the parts of a query may stand in any order",
    CONTENT_CODING: "the body is the same after its content coding is undone",
    "json spelling": "the body is the same JSON value: key order, white space or escapes differ",
    "form order": "the body has the same form fields in another order",
    "multipart boundary": "the body has the same parts under another boundary",
    KEEPALIVE: "a message by which a WebSocket is kept open: they go by a timer",
    "side call": "a client's own call (telemetry, lists): answered by its endpoint alone",
}
"""What each rule that is no row of a table means, for the report."""


def reasons(
    entry: Entry, request: Request, head: HeadKey, body: BodyKey | None, *, redacted: bool
) -> tuple[str, ...]:
    """The rules that were needed, each once; none where all that is compared was the same bytes.

    `body` is None where the bodies are the same bytes; `redacted` says that references differ.
    """
    found = [REDACTED] if redacted else []
    found += _of_heads(entry, request, head)
    if body is not None and request.body_digest != entry.recorded.request.body_digest:
        assert entry.body is not None
        found += body_reasons(entry.body, body, redacted=redacted)
    return tuple(dict.fromkeys(found))


def _of_heads(entry: Entry, request: Request, head: HeadKey) -> list[str]:
    if head.strict != entry.head.strict:
        now, then = (set(key.strict) - set(key.loose) for key in (head, entry.head))
        return sorted({ignored(name) for name, _ in now ^ then})
    recorded = entry.recorded.request.query
    if recorded != request.query and blank_text(recorded)[0] != blank_text(request.query)[0]:
        return [QUERY_ORDER]
    return []


def body_reasons(recorded: BodyKey, now: BodyKey, *, redacted: bool = False) -> list[str]:
    """The rules under which two bodies that are not the same bytes are equal."""
    found = [CONTENT_CODING] if recorded.coding != now.coding else []
    if recorded.strict == now.strict:
        if not found and not redacted and now.form in SPELLING:
            found.append(SPELLING[now.form])
        return found
    differing = set(recorded.blanked) ^ set(now.blanked)
    return found + sorted({item.rule for item in differing})
