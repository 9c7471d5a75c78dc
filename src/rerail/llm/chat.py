"""OpenAI's chat completions as a view, whole or streamed. Knows one API's shape, no tape.

Source: the API reference of `/v1/chat/completions`; many other services speak it too.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from rerail.llm.arguments import parsed
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
    tools = [object_of(tool, "function") or tool for tool in objects_of(document, "tools")]
    messages = tuple(one_message(entry) for entry in objects_of(document, "messages"))
    return Prompt(text_of(document, "model"), messages, names_of(tools))


def completion(document: Document) -> Completion:
    """What a reply in one document says: its first choice."""
    choice = next(iter(objects_of(document, "choices")), {})
    message = object_of(choice, "message")
    return Completion(
        model=text_of(document, "model"),
        message=one_message({"role": "assistant", **message}) if message else None,
        finish_reason=text_of(choice, "finish_reason"),
        usage=_usage(object_of(document, "usage")),
        response_id=text_of(document, "id"),
        error=error_of(document),
    )


def streamed(chunks: Iterable[Document]) -> Completion:
    """What a streamed reply says: the pieces of its first choice put together."""
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    finish = ""
    for chunk in chunks:
        whole.update({name: chunk[name] for name in ("id", "model", "error") if chunk.get(name)})
        if isinstance(chunk.get("usage"), dict):
            whole["usage"] = chunk["usage"]
        for choice in objects_of(chunk, "choices"):
            if choice.get("index", 0) == 0:
                finish = text_of(choice, "finish_reason") or finish
                _add(message, calls, object_of(choice, "delta"))
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    choices = [{"message": message, "finish_reason": finish}] if message or finish else []
    return completion({**whole, "choices": choices})


def _add(message: dict[str, Any], calls: dict[int, dict[str, Any]], delta: Document) -> None:
    for name in ("content", "refusal", "reasoning_content", "reasoning"):
        if isinstance(delta.get(name), str):
            message[name] = message.get(name, "") + delta[name]
    for piece in objects_of(delta, "tool_calls"):
        index = count_of(piece, "index") or 0
        call = calls.setdefault(index, {"id": "", "function": {"name": "", "arguments": ""}})
        call["id"] = text_of(piece, "id") or call["id"]
        for name in ("name", "arguments"):
            call["function"][name] += text_of(object_of(piece, "function"), name)


def one_message(entry: Document) -> Message:
    """One message of a request, or of a reply."""
    role = role_of(entry)
    if role == "tool":
        told = "".join(part.content for part in _content(entry) if isinstance(part, Text))
        return Message(role, (ToolCallResponse(text_of(entry, "tool_call_id"), told),))
    return Message(role, (*_reasoning(entry), *_content(entry), *_calls(entry)))


def _content(entry: Document) -> Iterator[Part]:
    content = entry.get("content")
    if isinstance(content, str):
        if content:
            yield Text(content)
    else:
        for part in objects_of(entry, "content"):
            kind = text_of(part, "type")
            yield Text(text_of(part, "text")) if kind in ("text", "") else Other(kind)
    if text_of(entry, "refusal"):
        yield Text(text_of(entry, "refusal"))


def _reasoning(entry: Document) -> Iterator[Part]:
    """Not in OpenAI's own API; other services that speak it put it beside the content."""
    words = text_of(entry, "reasoning_content") or text_of(entry, "reasoning")
    if words:
        yield Reasoning(words)


def _calls(entry: Document) -> Iterator[ToolCall]:
    for call in objects_of(entry, "tool_calls"):
        function = object_of(call, "function") or object_of(call, "custom")
        arguments = function.get("arguments", function.get("input"))
        yield ToolCall(text_of(call, "id"), text_of(function, "name"), parsed(arguments))


def _usage(usage: Document) -> Usage:
    return Usage(
        count_of(usage, "prompt_tokens"),
        count_of(usage, "completion_tokens"),
        count_of(usage, "prompt_tokens_details", "cached_tokens"),
        count_of(usage, "completion_tokens_details", "reasoning_tokens"),
    )
