"""Another answer of a tool in a request to a model, in the form each API has. Knows no tape.

A result is named by its call's id, or by the tool's name: then the last one is meant. The agent
does not know of the other answer and sends its own again in each later request: `Spot` remembers
which result it was.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spot:
    """One result: by its call's id, where the API has such, else by its place in the history."""

    call_id: str
    entry: int
    part: int = 0

    def is_in(self, result: "Result") -> bool:
        """Whether a result of another request is this one."""
        if self.call_id or result.spot.call_id:
            return self.call_id == result.spot.call_id
        return self == result.spot


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result in a request; `put` puts another in its place."""

    spot: Spot
    tool: str
    put: Callable[[Any], None]


class NoSuchResult(ValueError):
    """The request has no such result; the message says which it has."""


def find_result(api: str, document: Document, named: str) -> Spot:
    """The last result of the call, or of the tool, of this name. Raises NoSuchResult."""
    found = list(results(api, document))
    for result in reversed(found):
        if named in (result.spot.call_id, result.tool):
            return result.spot
    tools = ", ".join(dict.fromkeys(result.tool or result.spot.call_id for result in found))
    there = f"there are results of {tools}" if tools else "there is no result of a tool"
    raise NoSuchResult(f"no result of `{named}`; {there}")


def put_result(api: str, document: Document, spot: Spot, answer: Any) -> bool:
    """Put another answer in a result's place; False where the request does not have it."""
    for result in results(api, document):
        if spot.is_in(result):
            result.put(answer)
            return True
    return False


def results(api: str, document: Document) -> Iterator[Result]:
    """All results of tools in a request to an API of `rerail.llm.calls`, in order."""
    reader = _READERS.get(api)
    return reader(document) if reader else iter(())


# The forms. Sources: the API references named in `rerail.llm.hint`.


def _in_chat(document: Document) -> Iterator[Result]:
    names: dict[str, str] = {}
    for number, message in _entries(document, "messages"):
        for call in _objects(message.get("tool_calls")):
            function = call.get("function")
            if isinstance(function, dict):
                names[_text(call.get("id"))] = _text(function.get("name"))
        if message.get("role") == "tool":
            call_id = _text(message.get("tool_call_id"))
            name = _text(message.get("tool_name")) or _text(message.get("name"))
            tool = name or names.get(call_id, "")
            yield Result(Spot(call_id, number), tool, _text_setter(message, "content"))


def _in_blocks(document: Document) -> Iterator[Result]:
    names: dict[str, str] = {}
    for number, message in _entries(document, "messages"):
        for part, block in enumerate(_objects(message.get("content"))):
            if block.get("type") == "tool_use":
                names[_text(block.get("id"))] = _text(block.get("name"))
            elif block.get("type") == "tool_result":
                call_id = _text(block.get("tool_use_id"))
                setter = _text_setter(block, "content")
                yield Result(Spot(call_id, number, part), names.get(call_id, ""), setter)


def _in_items(document: Document) -> Iterator[Result]:
    names: dict[str, str] = {}
    for number, item in _entries(document, "input"):
        call_id, kind = _text(item.get("call_id")), _text(item.get("type"))
        if kind.endswith("_call_output"):
            yield Result(
                Spot(call_id, number), names.get(call_id, ""), _text_setter(item, "output")
            )
        elif kind.endswith("_call"):
            names[call_id] = _text(item.get("name")) or kind.removesuffix("_call")


def _in_contents(document: Document) -> Iterator[Result]:
    for number, content in _entries(document, "contents"):
        for part, piece in enumerate(_objects(content.get("parts"))):
            answered = piece.get("functionResponse")
            if isinstance(answered, dict):
                spot = Spot(_text(answered.get("id")), number, part)
                yield Result(spot, _text(answered.get("name")), _object_setter(answered))


_READERS: Final[Mapping[str, Callable[[Document], Iterator[Result]]]] = {
    "openai.chat_completions": _in_chat,
    "ollama.chat": _in_chat,
    "anthropic.messages": _in_blocks,
    "openai.responses": _in_items,
    "gemini.generate_content": _in_contents,
}


def _text_setter(holder: Document, field: str) -> Callable[[Any], None]:
    def put(answer: Any) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        holder[field] = text
        holder.pop("is_error", None)

    return put


def _object_setter(holder: Document) -> Callable[[Any], None]:
    """Gemini takes an object; what is none stands under `result`, as its SDKs put it."""

    def put(answer: Any) -> None:
        holder["response"] = answer if isinstance(answer, dict) else {"result": answer}

    return put


def _entries(document: Document, field: str) -> Iterator[tuple[int, Document]]:
    history = document.get(field)
    for number, entry in enumerate(history if isinstance(history, list) else ()):
        if isinstance(entry, dict):
            yield number, entry


def _objects(value: Any) -> list[Document]:
    """The objects of a list; others keep no place, and results are told by their ids there."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
