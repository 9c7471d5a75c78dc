"""Where a hint goes in a request to a model: the one place each API allows. Knows no tape.

A hint is a user's words, put after everything the history holds at that moment and never between a
tool's call and its result. The agent does not know of it, so that it has to be put in again, at the
same place, in every later request: `Place` remembers where that is.

Sources: the API references of OpenAI (chat completions, responses), Anthropic (messages: the
results of tools come first in the user's message that follows their calls), Google
(generateContent) and Ollama (chat).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hint stands: in the list `field` of a request of `api`, after `after` entries.

    `moved` says that the history has since become shorter than that, so that the hint stands first.
    """

    api: str
    field: str
    after: int
    moved: bool = False


class NoPlaceForHint(ValueError):
    """The request has no history that a hint could be put into; the message says why."""


def place_in(api: str, body: bytes) -> Place:
    """The place for a hint in a request to an API of `rerail.llm.calls`: after all it holds.

    Raises:
        NoPlaceForHint: It is no JSON object, the API has no such place, or it has no history.
    """
    form = _form(api)
    history = _history(_document(body), form.field)
    return Place(api, form.field, len(history))


def with_hint(body: bytes, hint: str, place: Place) -> tuple[bytes, Place]:
    """The request with the hint in it, and where it stands in this one.

    Everything else keeps its value and its order. Where the agent has cut its history shorter than
    the place, the hint stands at the history's beginning, and the place returned says `moved`.

    Raises:
        NoPlaceForHint: as `place_in` does.
    """
    document = _document(body)
    form = _form(place.api)
    history = _history(document, form.field)
    moved = len(history) < place.after
    after = form.first(history) if moved else place.after
    document[form.field] = form.put(history, after, hint)
    return encoded(document), Place(place.api, form.field, after, moved or place.moved)


# The forms.

_Put = Callable[[list[Any], int, str], list[Any]]


@dataclass(frozen=True, slots=True)
class _Form:
    """`put` places a hint after so many entries; `first` is where one may stand at the earliest."""

    field: str
    put: _Put
    first: Callable[[list[Any]], int]


def _as_message(history: list[Any], after: int, hint: str) -> list[Any]:
    return _inserted(history, after, {"role": "user", "content": hint})


def _as_item(history: list[Any], after: int, hint: str) -> list[Any]:
    content = [{"type": "input_text", "text": hint}]
    return _inserted(history, after, {"type": "message", "role": "user", "content": content})


def _as_content(history: list[Any], after: int, hint: str) -> list[Any]:
    return _inserted(history, after, {"role": "user", "parts": [{"text": hint}]})


def _as_block(history: list[Any], after: int, hint: str) -> list[Any]:
    """Anthropic's results of tools have to be answered at once, in one message: it joins theirs."""
    before = history[after - 1] if after else None
    if not isinstance(before, dict) or before.get("role") != "user":
        return _as_message(history, after, hint)
    content = before.get("content")
    blocks = (
        [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    )
    joined = {**before, "content": [*blocks, {"type": "text", "text": hint}]}
    return [*history[: after - 1], joined, *history[after:]]


def _inserted(history: list[Any], after: int, entry: Document) -> list[Any]:
    return [*history[:after], entry, *history[after:]]


def _after_system(history: list[Any]) -> int:
    """Instructions come first: the number of entries before anything else."""
    for number, entry in enumerate(history):
        if not (isinstance(entry, dict) and entry.get("role") in ("system", "developer")):
            return number
    return len(history)


def _after_first_user(history: list[Any]) -> int:
    return 1 if history else 0


_FORMS: Final[Mapping[str, _Form]] = {
    "openai.chat_completions": _Form("messages", _as_message, _after_system),
    "openai.responses": _Form("input", _as_item, _after_system),
    "anthropic.messages": _Form("messages", _as_block, _after_first_user),
    "gemini.generate_content": _Form("contents", _as_content, _after_first_user),
    "ollama.chat": _Form("messages", _as_message, _after_system),
}


def _form(api: str) -> _Form:
    form = _FORMS.get(api)
    if form is None:
        raise NoPlaceForHint(f"{api} has no place for a hint")
    return form


def _document(body: bytes) -> Document:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NoPlaceForHint(f"the request is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise NoPlaceForHint("the request is not a JSON object")
    return document


def encoded(document: Document) -> bytes:
    """A changed request, as short as JSON is written."""
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # Half a surrogate pair: JSON can write it only as an escape.
        return json.dumps(document, separators=(",", ":")).encode()


def _history(document: Document, field: str) -> list[Any]:
    history = document.get(field)
    if isinstance(history, str):
        # OpenAI's responses take a plain text for one message of the user.
        return [{"type": "message", "role": "user", "content": history}]
    if not isinstance(history, list):
        raise NoPlaceForHint(f"the request has no `{field}`")
    return history
