"""Ollama's chat as a view, whole or streamed (one JSON document a line). Knows no tape.

Source: Ollama's API reference, `/api/chat`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from rerail.llm.view import (
    Completion,
    Document,
    Message,
    Other,
    Part,
    Prompt,
    Reasoning,
    Text,
    ToolCall,
    ToolCallResponse,
    Usage,
    count_of,
    error_of,
    names_of,
    object_of,
    objects_of,
    role_of,
    text_of,
)


def prompt(document: Document) -> Prompt:
    """What a request asks."""
    tools = [object_of(tool, "function") for tool in objects_of(document, "tools")]
    messages = tuple(_message(entry) for entry in objects_of(document, "messages"))
    return Prompt(text_of(document, "model"), messages, names_of(tools))


def completion(document: Document) -> Completion:
    """What a reply in one document says."""
    return streamed([document])


def streamed(documents: Iterable[Document]) -> Completion:
    """What the lines of a stream say together."""
    message: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for document in documents:
        last.update(document)
        for name, value in object_of(document, "message").items():
            before = message.get(name)
            joins = isinstance(value, str | list) and type(before) is type(value) and name != "role"
            message[name] = before + value if joins else value
    return Completion(
        model=text_of(last, "model"),
        message=_message({"role": "assistant", **message}) if message else None,
        finish_reason=text_of(last, "done_reason"),
        usage=Usage(count_of(last, "prompt_eval_count"), count_of(last, "eval_count")),
        error=error_of(last),
    )


def _message(entry: Document) -> Message:
    role = role_of(entry)
    if role == "tool":
        name = text_of(entry, "tool_name") or text_of(entry, "name")
        return Message(role, (ToolCallResponse(name, text_of(entry, "content")),))
    return Message(role, tuple(_parts(entry)))


def _parts(entry: Document) -> Iterator[Part]:
    if text_of(entry, "thinking"):
        yield Reasoning(text_of(entry, "thinking"))
    if text_of(entry, "content"):
        yield Text(text_of(entry, "content"))
    for call in objects_of(entry, "tool_calls"):
        function = object_of(call, "function")
        yield ToolCall(text_of(call, "id"), text_of(function, "name"), function.get("arguments"))
    if isinstance(entry.get("images"), list):
        yield Other("images")
