"""The history that a provider keeps for an agent, put together again from what was said. Pure.

With OpenAI's responses an agent may send only what is new, and name the response that it continues.
Where nobody knows that response any more, or not on this connection, the request has to be whole.

Source: the API reference of `/v1/responses`, its streaming events, and its WebSocket mode.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rerail.llm.hint import encoded
from rerail.tape.records import Side
from rerail.wire.any_json import loaded
from rerail.wire.sse import events

Item = dict[str, Any]
Said = tuple[Side, bytes]

_FINAL: Final = frozenset(("response.completed", "response.incomplete", "response.failed"))


class HistoryMissing(ValueError):
    """What a message continues is not among the messages before it."""


@dataclass(frozen=True, slots=True)
class _Response:
    """One response: what was asked for it, what it said, and what it continued."""

    asked: list[Any]
    said: list[Item]
    continues: str


def whole_request(message: bytes, before: Iterable[Said]) -> bytes:
    """A message of the agent with all of its history in it; as it is where it continues nothing.

    `before` are the messages of its session up to it; over HTTP the bodies of requests and replies
    (`as_said` makes such of a stream). Raises HistoryMissing.
    """
    document = _document(message)
    continued = _continued(document)
    if not continued:
        return message
    del document["previous_response_id"]
    known = _responses(before)
    history: list[Any] = []
    while continued:
        if continued not in known:
            raise HistoryMissing(f"the response `{continued}` that it continues is not on the tape")
        response = known.pop(continued)
        history = [*response.asked, *response.said, *history]
        continued = response.continues
    document["input"] = [*history, *_input(document)]
    return encoded(document)


def _responses(before: Iterable[Said]) -> dict[str, _Response]:
    known: dict[str, _Response] = {}
    asked: Item = {}
    items: list[Item] = []
    for sender, message in before:
        document = _document(message)
        kind = document.get("type")
        if sender == "agent" and (kind == "response.create" or "input" in document):
            asked, items = document, []
        elif kind == "response.output_item.done" and isinstance(document.get("item"), dict):
            items.append(document["item"])
        elif (response := _final(document)) is not None:
            said = [item for item in items or response.get("output") or () if _may_return(item)]
            known[str(response.get("id"))] = _Response(_input(asked), said, _continued(asked))
    return known


def is_stored(request: bytes) -> bool:
    """Whether the provider was to keep what comes of a request; so it does unless told not to."""
    return _document(request).get("store") is not False


def as_said(reply: bytes, content_type: str) -> list[Said]:
    """A reply over HTTP as the messages that it would be on a WebSocket."""
    if content_type.partition(";")[0].strip().lower() == "text/event-stream":
        return [("origin", event.data.encode()) for event in events(reply)]
    return [("origin", reply)]


def _final(document: Item) -> Item | None:
    """The response that is over with a message, or with the whole reply."""
    inner = document.get("response")
    kind = document.get("type")
    if isinstance(kind, str) and kind in _FINAL and isinstance(inner, dict):
        return inner
    return document if document.get("object") == "response" else None


def _may_return(item: Any) -> bool:
    """What a model thought comes back only encrypted; by its id alone it is known to nobody."""
    if not isinstance(item, dict):
        return False
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content"))


def _continued(document: Item) -> str:
    continued = document.get("previous_response_id")
    return continued if isinstance(continued, str) else ""


def _input(document: Item) -> list[Any]:
    given = document.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _document(message: bytes) -> Item:
    document = loaded(message)
    return document if isinstance(document, dict) else {}
