"""OpenAI's responses as a view, whole or streamed, over HTTP or a WebSocket. Knows no tape.

Source: the API reference of `/v1/responses` and of its streaming events.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

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

_FINAL: Final = frozenset(("response.completed", "response.incomplete", "response.failed"))
_NO_MESSAGE: Final = frozenset(("additional_tools", "configuration_update"))


def prompt(document: Document) -> Prompt:
    """What a request asks."""
    instructions = text_of(document, "instructions")
    messages = [Message("system", (Text(instructions),))] if instructions else []
    if isinstance(document.get("input"), str):
        messages.append(Message("user", (Text(document["input"]),)))
    entries = objects_of(document, "input")
    messages += [_message(entry) for entry in entries if text_of(entry, "type") not in _NO_MESSAGE]
    offered = [*objects_of(document, "tools")]
    for entry in entries:
        if entry.get("type") == "additional_tools":
            offered += objects_of(entry, "tools")
    continues = text_of(document, "previous_response_id")
    return Prompt(text_of(document, "model"), tuple(messages), tuple(_tools(offered)), continues)


def completion(document: Document) -> Completion:
    """What a response says: all its output items as one message."""
    items = objects_of(document, "output")
    parts = tuple(part for item in items for part in _parts(item))
    reason = text_of(object_of(document, "incomplete_details"), "reason")
    return Completion(
        model=text_of(document, "model"),
        message=Message("assistant", parts) if items else None,
        finish_reason=reason or text_of(document, "status"),
        usage=_usage(object_of(document, "usage")),
        response_id=text_of(document, "id"),
        error=error_of(document),
    )


def streamed(events: Iterable[Document]) -> Completion:
    """What a stream of events says: its final response; else the items that were done by then."""
    frame: Mapping[str, Any] = {}
    items: list[Document] = []
    for event in events:
        kind = text_of(event, "type")
        if kind in _FINAL:
            return completion(object_of(event, "response"))
        if kind == "response.created":
            frame = object_of(event, "response")
        elif kind == "response.output_item.done":
            items.append(object_of(event, "item"))
        elif kind == "error":
            said = error_of(event) or text_of(event, "message")
            return completion({**frame, "status": "", "error": said})
    return completion({**frame, "status": "", "output": items})


def _message(entry: Document) -> Message:
    kind = text_of(entry, "type")
    if kind.endswith("_call_output"):
        return Message("tool", tuple(_parts(entry)))
    if kind in ("", "message"):
        return Message(role_of(entry), tuple(_parts(entry)))
    return Message("assistant", tuple(_parts(entry)))


def _parts(item: Document) -> Iterator[Part]:
    kind = text_of(item, "type") or "message"
    call_id = text_of(item, "call_id") or text_of(item, "id")
    if kind == "message":
        yield from _content(item)
    elif kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments", item.get("input"))
        yield ToolCall(call_id, text_of(item, "name"), parsed(arguments))
    elif kind.endswith("_call_output"):
        yield ToolCallResponse(call_id, _output(item))
    elif kind == "reasoning":
        yield Reasoning("".join(text_of(part, "text") for part in objects_of(item, "summary")))
    elif kind.endswith("_call"):
        yield ToolCall(call_id, kind.removesuffix("_call"), item.get("action"))
    else:
        yield Other(kind)


def _content(item: Document) -> Iterator[Part]:
    if isinstance(item.get("content"), str):
        yield Text(item["content"])
    for part in objects_of(item, "content"):
        kind = text_of(part, "type")
        if kind in ("input_text", "output_text", "text"):
            yield Text(text_of(part, "text"))
        elif kind == "refusal":
            yield Text(text_of(part, "refusal"))
        else:
            yield Other(kind)


def _output(item: Document) -> str:
    if isinstance(item.get("output"), str):
        return str(item["output"])
    return "".join(text_of(part, "text") for part in objects_of(item, "output"))


def _tools(offered: Iterable[Document]) -> Iterator[str]:
    for tool in offered:
        if tool.get("type") == "namespace":
            yield from names_of(objects_of(tool, "tools"))
        else:
            yield text_of(tool, "name") or text_of(tool, "type")


def _usage(usage: Document) -> Usage:
    return Usage(
        count_of(usage, "input_tokens"),
        count_of(usage, "output_tokens"),
        count_of(usage, "input_tokens_details", "cached_tokens"),
        count_of(usage, "output_tokens_details", "reasoning_tokens"),
    )
