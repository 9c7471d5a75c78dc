"""OpenAI's responses: requests read, replies written. It knows no server and no policy.

Source: the OpenAPI description of `/v1/responses` and of its streaming events.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rerail.testing.model.chat import choice, plain
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

Item = dict[str, Any]


def read(body: Mapping[str, Any], earlier: tuple[Message, ...] = ()) -> Asked:
    """Understand a request; `earlier` is the history behind its `previous_response_id`.

    Raises:
        BadRequest: It lacks its model or its input, or an item is of no known type.
    """
    instructions = str(body.get("instructions") or "")
    system = (Message("system", instructions),) if instructions else ()
    entries = body.get("input")
    if isinstance(entries, str):
        body = {**body, "input": [{"role": "user", "content": entries}]}
    new = tuple(message for entry in objects(body, "input") if (message := _message(entry)))
    if not (new or earlier):
        raise BadRequest("Missing required parameter: 'input'.", "input")
    return Asked(
        api="responses",
        model=model_of(body),
        messages=system + earlier + new,
        tools=tuple(_tool(entry) for entry in objects(body, "tools") if "name" in entry),
        tool_choice=choice(body.get("tool_choice")),
        schema=_schema(body.get("text")),
        stream=bool(body.get("stream")),
        body=body,
    )


def whole(answer: Answer) -> dict[str, Any]:
    """The reply as one document."""
    return _finished(answer, _frame(answer), _items(answer))


def remembered(answer: Answer, document: Mapping[str, Any]) -> tuple[Message, ...]:
    """The history that a later request continues by this response's id."""
    calls = tuple(
        ToolCall(item["name"], parse_arguments(item["arguments"]), item["call_id"])
        for item in document["output"]
        if item["type"] == "function_call"
    )
    history = tuple(entry for entry in answer.asked.messages if entry.role != "system")
    return (*history, Message("assistant", answer.reply.text, calls))


def events(answer: Answer, document: Mapping[str, Any]) -> Iterator[bytes]:
    """The same reply as server-sent events, each as it stands on the wire."""
    frame = {**document, "status": "in_progress", "output": [], "usage": None}
    frame["completed_at"] = None
    numbered = enumerate(_steps(answer, frame, document))
    for number, (kind, fields) in numbered:
        text = json.dumps(
            {"type": kind, "sequence_number": number, **fields},
            ensure_ascii=False,
            separators=(",", ":"),
        )
        yield f"event: {kind}\ndata: {text}\n\n".encode()


Named = tuple[str, dict[str, Any]]


def _steps(
    answer: Answer, frame: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[Named]:
    yield "response.created", {"response": frame}
    yield "response.in_progress", {"response": frame}
    for index, item in enumerate(document["output"]):
        steps = _text_steps if item["type"] == "message" else _call_steps
        yield from steps(answer, index, item)
    yield "response.completed", {"response": document}


def _text_steps(answer: Answer, index: int, item: Item) -> Iterator[Named]:
    part = item["content"][0]
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    begun = {**item, "status": "in_progress", "content": []}
    yield "response.output_item.added", {"output_index": index, "item": begun}
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"], answer.chance):
        padding = answer.identifier("", answer.chance.randint(1, 12))
        delta = {"delta": piece, "logprobs": [], "obfuscation": padding}
        yield "response.output_text.delta", {**place, **delta}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}
    yield "response.output_item.done", {"output_index": index, "item": item}


def _call_steps(answer: Answer, index: int, item: Item) -> Iterator[Named]:
    place = {"item_id": item["id"], "output_index": index}
    begun = {**item, "status": "in_progress", "arguments": ""}
    yield "response.output_item.added", {"output_index": index, "item": begun}
    for piece in pieces(item["arguments"], answer.chance):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}
    done = {**place, "name": item["name"], "arguments": item["arguments"]}
    yield "response.function_call_arguments.done", done
    yield "response.output_item.done", {"output_index": index, "item": item}


def _items(answer: Answer) -> list[Item]:
    items: list[Item] = []
    if answer.reply.text or not answer.reply.tool_calls:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": answer.reply.text}
        items.append(
            {
                "id": answer.identifier("msg_", 50, hexadecimal=True),
                "type": "message",
                "status": "completed",
                "content": [part],
                "role": "assistant",
            }
        )
    items += [
        {
            "id": answer.identifier("fc_", 50, hexadecimal=True),
            "type": "function_call",
            "status": "completed",
            "arguments": arguments_text(call),
            "call_id": call.call_id or answer.identifier("call_"),
            "name": call.name,
        }
        for call in answer.reply.tool_calls
    ]
    return items


def _frame(answer: Answer) -> dict[str, Any]:
    body = answer.asked.body
    return {
        "id": answer.identifier("resp_", 50, hexadecimal=True),
        "object": "response",
        "created_at": answer.created,
        "status": "completed",
        "background": False,
        "completed_at": answer.created,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": MODEL_NAME,
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": None,
        "user": None,
        "metadata": body.get("metadata") or {},
    }


def _finished(answer: Answer, frame: dict[str, Any], items: list[Item]) -> dict[str, Any]:
    usage = {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }
    return {**frame, "output": items, "usage": usage}


def _message(entry: Mapping[str, Any]) -> Message | None:
    kind = entry.get("type", "message")
    if kind == "function_call":
        arguments = parse_arguments(entry.get("arguments"))
        call = ToolCall(str(entry.get("name")), arguments, str(entry.get("call_id")))
        return Message("assistant", "", (call,))
    if kind == "function_call_output":
        return Message("tool", plain(entry.get("output")), (), str(entry.get("call_id")))
    if kind in ("reasoning", "item_reference"):
        return None
    if kind != "message":
        raise BadRequest(f"Invalid value: '{kind}' is no known type of item.", "input")
    return Message(role_of(entry, "input"), plain(entry.get("content")))


def _tool(entry: Mapping[str, Any]) -> Tool:
    return Tool(
        str(entry["name"]),
        str(entry.get("description") or ""),
        mapping(entry.get("parameters")),
    )


def _schema(text: Any) -> Mapping[str, Any] | None:
    form = mapping(mapping(text).get("format"))
    if form.get("type") == "json_object":
        return {"type": "object"}
    return mapping(form.get("schema")) or None
