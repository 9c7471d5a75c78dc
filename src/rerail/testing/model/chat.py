"""OpenAI's chat completions: requests read, replies written. It knows no server and no policy.

Source: the OpenAPI description of `/v1/chat/completions` and what the real service sends.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

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
    parse_arguments,
    pieces,
    role_of,
)


def read(body: Mapping[str, Any]) -> Asked:
    """Understand a request.

    Raises:
        BadRequest: It lacks its model or messages, or asks for what is not simulated.
    """
    if body.get("n") not in (None, 1):
        raise BadRequest("The simulated model gives one choice.", "n")
    messages = tuple(_message(entry) for entry in objects(body, "messages"))
    if not messages:
        raise BadRequest("Missing required parameter: 'messages'.", "messages")
    return Asked(
        api="chat",
        model=model_of(body),
        messages=messages,
        tools=tuple(_tool(mapping(entry.get("function"))) for entry in objects(body, "tools")),
        tool_choice=choice(body.get("tool_choice")),
        schema=_schema(body.get("response_format")),
        stream=bool(body.get("stream")),
        body=body,
    )


def whole(answer: Answer) -> dict[str, Any]:
    """The reply as one document."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.reply.text or None,
        "refusal": None,
        "annotations": [],
    }
    if answer.reply.tool_calls:
        message["tool_calls"] = [_call(answer, call) for call in answer.reply.tool_calls]
    choices = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _finish(answer),
    }
    return {
        **_frame(answer, "chat.completion"),
        "choices": [choices],
        "usage": usage(answer),
    }


def events(answer: Answer) -> Iterator[bytes]:
    """The reply as server-sent events, each as it stands on the wire."""
    frame = _frame(answer, "chat.completion.chunk")
    tail = {"usage": None} if _wants_usage(answer) else {}

    def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
        part = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event({**frame, "choices": [part], **tail, **_padding(answer)})

    yield event({"role": "assistant", "content": None if _silent(answer) else "", "refusal": None})
    for piece in pieces(answer.reply.text, answer.chance):
        yield event({"content": piece})
    for index, call in enumerate(answer.reply.tool_calls):
        start = _call(answer, call)
        start["function"]["arguments"] = ""
        yield event({"tool_calls": [{"index": index, **start}]})
        for piece in pieces(arguments_text(call), answer.chance):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield event({}, _finish(answer))
    if _wants_usage(answer):
        yield _event({**frame, "choices": [], "usage": usage(answer), **_padding(answer)})
    yield b"data: [DONE]\n\n"


def error(status: int, message: str, parameter: str | None = None) -> dict[str, Any]:
    """A refusal in OpenAI's form."""
    kinds = {
        401: ("invalid_request_error", "invalid_api_key"),
        404: ("invalid_request_error", "unknown_url"),
        429: ("requests", "rate_limit_exceeded"),
    }
    fallback = ("server_error" if status >= 500 else "invalid_request_error", None)
    kind, code = kinds.get(status, fallback)
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def choice(value: Any) -> str:
    """`tool_choice` as one word: `auto`, `none`, `required`, or a tool's name."""
    if isinstance(value, dict):
        return str(value.get("name") or mapping(value.get("function")).get("name", "auto"))
    return str(value or "auto")


def usage(answer: Answer) -> dict[str, Any]:
    """Tokens as the chat API counts them."""
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _message(entry: Mapping[str, Any]) -> Message:
    return Message(
        role=role_of(entry, "messages"),
        text=plain(entry.get("content")),
        tool_calls=tuple(_read_call(call) for call in objects(entry, "tool_calls")),
        tool_call_id=str(entry.get("tool_call_id") or ""),
    )


def plain(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, list):
        return "".join(
            str(part.get("text") or f"[{part.get('type')}]")
            for part in content
            if isinstance(part, dict)
        )
    return str(content or "")


def _read_call(call: Mapping[str, Any]) -> ToolCall:
    function = mapping(call.get("function"))
    arguments = parse_arguments(function.get("arguments"))
    return ToolCall(str(function.get("name")), arguments, str(call.get("id") or ""))


def _tool(function: Mapping[str, Any]) -> Tool:
    return Tool(
        str(function.get("name")),
        str(function.get("description") or ""),
        mapping(function.get("parameters")),
    )


def _schema(response_format: Any) -> Mapping[str, Any] | None:
    form = mapping(response_format)
    if form.get("type") == "json_object":
        return {"type": "object"}
    return mapping(mapping(form.get("json_schema")).get("schema")) or None


def _frame(answer: Answer, kind: str) -> dict[str, Any]:
    return {
        "id": answer.identifier("chatcmpl-", 29),
        "object": kind,
        "created": answer.created,
        "model": MODEL_NAME,
        "service_tier": "default",
        "system_fingerprint": answer.identifier("fp_", 10, hexadecimal=True),
    }


def _call(answer: Answer, call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.call_id or answer.identifier("call_"),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_text(call)},
    }


def _padding(answer: Answer) -> dict[str, str]:
    # The real service hides the length of each piece behind random padding.
    return {"obfuscation": answer.identifier("", answer.chance.randint(1, 12))}


def _event(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()


def _wants_usage(answer: Answer) -> bool:
    return bool((answer.asked.body.get("stream_options") or {}).get("include_usage"))


def _silent(answer: Answer) -> bool:
    return not answer.reply.text and bool(answer.reply.tool_calls)


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.reply.tool_calls else "stop"
