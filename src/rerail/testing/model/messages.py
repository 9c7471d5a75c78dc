"""Anthropic's messages: requests read, replies written. It knows no server and no policy.

Source: the API reference of `/v1/messages` and of its streaming events.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rerail.testing.model.chat import plain
from rerail.testing.model.conversation import (
    MODEL_NAME,
    Answer,
    Asked,
    BadRequest,
    Message,
    Tool,
    ToolCall,
    arguments_text,
    mapping,
    model_of,
    objects,
    pieces,
    role_of,
)


def read(body: Mapping[str, Any]) -> Asked:
    """Understand a request.

    Raises:
        BadRequest: It lacks its model, messages or max_tokens, or a role is unknown.
    """
    system = plain(body.get("system"))
    turns = [message for entry in objects(body, "messages") for message in _messages(entry)]
    if not turns:
        raise BadRequest("messages: at least one message is required", "messages")
    return Asked(
        api="messages",
        model=model_of(body),
        messages=(*([Message("system", system)] if system else []), *turns),
        tools=tuple(_tool(entry) for entry in objects(body, "tools") if "name" in entry),
        tool_choice=_choice(body.get("tool_choice")),
        schema=_schema(body),
        stream=bool(body.get("stream")),
        body=body,
    )


def whole(answer: Answer) -> dict[str, Any]:
    """The reply as one document."""
    return {
        **_frame(answer),
        "content": _blocks(answer),
        "stop_reason": _stop(answer),
        "usage": _usage(answer, answer.output_tokens),
    }


def events(answer: Answer) -> Iterator[bytes]:
    """The reply as server-sent events, each as it stands on the wire."""
    yield _event("message_start", message={**_frame(answer), "usage": _usage(answer, 1)})
    for index, block in enumerate(_blocks(answer)):
        yield from _block_events(answer, index, block)
        if index == 0:
            yield _event("ping")
    delta = {"stop_reason": _stop(answer), "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": answer.output_tokens})
    yield _event("message_stop")


def error(status: int, message: str, _parameter: str | None = None) -> dict[str, Any]:
    """A refusal in Anthropic's form."""
    kinds = {
        401: "authentication_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    kind = kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def _block_events(answer: Answer, index: int, block: Mapping[str, Any]) -> Iterator[bytes]:
    if block["type"] == "text":
        begun, text, kind, key = {**block, "text": ""}, block["text"], "text_delta", "text"
    else:
        text = json.dumps(block["input"], ensure_ascii=False)
        begun, kind, key = {**block, "input": {}}, "input_json_delta", "partial_json"
    yield _event("content_block_start", index=index, content_block=begun)
    for piece in pieces(text, answer.chance):
        yield _event("content_block_delta", index=index, delta={"type": kind, key: piece})
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: Any) -> bytes:
    text = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {text}\n\n".encode()


def _messages(entry: Mapping[str, Any]) -> list[Message]:
    """One message of this API may hold several of ours: each tool result stands by itself."""
    role, content = role_of(entry, "messages"), entry.get("content")
    if isinstance(content, list):
        blocks = objects(entry, "content")
    else:
        blocks = [{"type": "text", "text": content}]
    results = [
        Message("tool", plain(block.get("content")), (), str(block.get("tool_use_id")))
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    calls = tuple(
        ToolCall(str(block.get("name")), mapping(block.get("input")), str(block.get("id")))
        for block in blocks
        if block.get("type") == "tool_use"
    )
    skipped = ("tool_result", "tool_use", "thinking", "redacted_thinking")
    text = plain([block for block in blocks if block.get("type") not in skipped])
    said = [Message(role, text, calls)] if text or calls or not results else []
    return results + said


def _tool(entry: Mapping[str, Any]) -> Tool:
    return Tool(
        str(entry["name"]),
        str(entry.get("description") or ""),
        mapping(entry.get("input_schema")),
    )


def _choice(value: Any) -> str:
    kind = str(mapping(value).get("type", "auto"))
    return str(value["name"]) if kind == "tool" else {"any": "required"}.get(kind, kind)


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = mapping(body.get("output_config")).get("format") or body.get("output_format")
    return mapping(mapping(form).get("schema")) or None


def _blocks(answer: Answer) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": answer.reply.text}] if answer.reply.text else []
    calls = [
        {
            "type": "tool_use",
            "id": call.call_id or answer.identifier("toolu_01", 22),
            "name": call.name,
            "input": json.loads(arguments_text(call)),
        }
        for call in answer.reply.tool_calls
    ]
    return [*text, *calls]


def _frame(answer: Answer) -> dict[str, Any]:
    return {
        "id": answer.identifier("msg_01", 22),
        "type": "message",
        "role": "assistant",
        "model": MODEL_NAME,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(answer: Answer, output: int) -> dict[str, Any]:
    return {
        "input_tokens": answer.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
        "service_tier": "standard",
    }


def _stop(answer: Answer) -> str:
    return "tool_use" if answer.reply.tool_calls else "end_turn"
