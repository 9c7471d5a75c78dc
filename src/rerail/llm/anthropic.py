"""Anthropic's messages as a view, whole or streamed. Knows one API's shape, no tape.

Source: the API reference of `/v1/messages` and of its streaming events.
"""

from collections.abc import Iterable, Iterator
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

_PIECES: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "json"}


def prompt(document: Document) -> Prompt:
    """What a request asks."""
    system = tuple(_content(document, "system"))
    messages = [Message("system", system)] if system else []
    messages += map(one_message, objects_of(document, "messages"))
    tools = names_of(objects_of(document, "tools"))
    return Prompt(text_of(document, "model"), tuple(messages), tools)


def one_message(entry: Document) -> Message:
    """One message of a request, or of a reply."""
    return Message(role_of(entry), tuple(_content(entry, "content")))


def completion(document: Document) -> Completion:
    """What a reply in one document says."""
    parts = tuple(_content(document, "content"))
    return Completion(
        model=text_of(document, "model"),
        message=Message("assistant", parts) if document.get("type") == "message" else None,
        finish_reason=text_of(document, "stop_reason"),
        usage=_usage(object_of(document, "usage")),
        response_id=text_of(document, "id"),
        error=error_of(document),
    )


def streamed(events: Iterable[Document]) -> Completion:
    """What a stream of events says, as far as it came."""
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        kind, index = text_of(event, "type"), count_of(event, "index") or 0
        if kind == "message_start":
            message = dict(object_of(event, "message"))
            usage.update(object_of(message, "usage"))
        elif kind == "content_block_start":
            blocks[index] = {**object_of(event, "content_block"), "json": ""}
        elif kind == "content_block_delta" and index in blocks:
            _add(blocks[index], object_of(event, "delta"))
        elif kind == "message_delta":
            message.update(object_of(event, "delta"))
            usage.update(object_of(event, "usage"))
        elif kind == "error":
            message["error"] = event.get("error")
    content = [_whole(blocks[index]) for index in sorted(blocks)]
    return completion({**message, "content": content, "usage": usage})


def _add(block: dict[str, Any], delta: Document) -> None:
    kind = text_of(delta, "type")
    field = "partial_json" if kind == "input_json_delta" else _PIECES.get(kind, "")
    into = _PIECES.get(kind, "")
    if into:
        block[into] = text_of(block, into) + text_of(delta, field)


def _whole(block: dict[str, Any]) -> Document:
    return {**block, "input": parsed(block["json"])} if block["json"] else block


def _content(document: Document, name: str) -> Iterator[Part]:
    if isinstance(document.get(name), str):
        yield Text(document[name])
    for block in objects_of(document, name):
        yield _part(block)


def _part(block: Document) -> Part:
    kind = text_of(block, "type")
    match kind:
        case "text":
            return Text(text_of(block, "text"))
        case "thinking":
            return Reasoning(text_of(block, "thinking"))
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return ToolCall(text_of(block, "id"), text_of(block, "name"), block.get("input"))
    if kind.endswith("tool_result"):
        words = "".join(
            part.content for part in _content(block, "content") if isinstance(part, Text)
        )
        return ToolCallResponse(text_of(block, "tool_use_id"), words, block.get("is_error") is True)
    return Other(kind)


def _usage(usage: Document) -> Usage:
    """Anthropic counts what it read from and wrote to its cache apart from the rest."""
    fresh = count_of(usage, "input_tokens")
    cached = count_of(usage, "cache_read_input_tokens")
    written = count_of(usage, "cache_creation_input_tokens")
    read = None if fresh is None else fresh + (cached or 0) + (written or 0)
    return Usage(read, count_of(usage, "output_tokens"), cached)
