"""OpenAI's responses: requests read, replies written. It knows no server and no policy.

Source: the OpenAPI description of `/v1/responses` and of its streaming events.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

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


@dataclass(frozen=True, slots=True)
class Past:
    """What the server keeps behind a `previous_response_id`; tools only where they were items."""

    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()


def read(body: Mapping[str, Any], past: Past | None = None) -> Asked:
    """Understand a request; `past` is what stands behind its `previous_response_id`.

    Raises:
        BadRequest: It lacks its model or its input, or an item is of no known type.
    """
    past = past or Past()
    instructions = str(body.get("instructions") or "")
    system = (Message("system", instructions),) if instructions else ()
    entries = body.get("input")
    if isinstance(entries, str):
        body = {**body, "input": [{"role": "user", "content": entries}]}
    new = tuple(message for entry in objects(body, "input") if (message := _message(entry)))
    if not (new or past.messages or is_prewarm(body)):
        raise BadRequest("Missing required parameter: 'input'.", "input")
    return Asked(
        api="responses",
        model=model_of(body),
        messages=system + past.messages + new,
        tools=(*past.tools, *_tools(objects(body, "tools")), *_additional_tools(body)),
        tool_choice=choice(body.get("tool_choice")),
        schema=_schema(body.get("text")),
        stream=bool(body.get("stream")),
        body=body,
    )


def whole(answer: Answer) -> dict[str, Any]:
    """The reply as one document."""
    return _finished(answer, _frame(answer), _items(answer))


def is_prewarm(body: Mapping[str, Any]) -> bool:
    """Whether nothing is to be generated yet (over a WebSocket)."""
    return body.get("generate") is False


def remembered(answer: Answer, document: Mapping[str, Any]) -> Past:
    """What a later request continues by this response's id."""
    asked = answer.asked
    calls = tuple(_read_call(item) for item in document["output"] if item["type"] in _CALLS)
    history = [entry for entry in asked.messages if entry.role != "system"]
    if document["output"]:
        history.append(Message("assistant", answer.reply.text, calls))
    named = {tool.name for tool in _tools(objects(asked.body, "tools"))}
    return Past(tuple(history), tuple(tool for tool in asked.tools if tool.name not in named))


def events(answer: Answer, document: Mapping[str, Any]) -> Iterator[bytes]:
    """The same reply as server-sent events, each as it stands on the wire."""
    for event in event_documents(answer, document):
        yield f"event: {event['type']}\ndata: {event_text(event)}\n\n".encode()


def event_documents(answer: Answer, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same reply as the documents of its events, in order."""
    frame = {**document, "status": "in_progress", "output": [], "usage": None}
    frame["completed_at"] = None
    for number, (kind, fields) in enumerate(_steps(answer, frame, document)):
        yield {"type": kind, "sequence_number": number, **fields}


def event_text(event: Mapping[str, Any]) -> str:
    """An event's document as JSON text, in one line."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def prewarmed(answer: Answer) -> dict[str, Any]:
    """The document of a response that was asked for with `generate: false`: nothing is said."""
    return _finished(answer, _frame(answer), [])


Named = tuple[str, dict[str, Any]]


def _steps(
    answer: Answer, frame: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[Named]:
    yield "response.created", {"response": frame}
    yield "response.in_progress", {"response": frame}
    for index, item in enumerate(document["output"]):
        yield from _STEPS[item["type"]](answer, index, item)
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


def _custom_call_steps(answer: Answer, index: int, item: Item) -> Iterator[Named]:
    place = {"item_id": item["id"], "output_index": index}
    begun = {**item, "status": "in_progress", "input": ""}
    yield "response.output_item.added", {"output_index": index, "item": begun}
    for piece in pieces(item["input"], answer.chance):
        yield "response.custom_tool_call_input.delta", {**place, "delta": piece}
    yield "response.custom_tool_call_input.done", {**place, "input": item["input"]}
    yield "response.output_item.done", {"output_index": index, "item": item}


_STEPS = {
    "message": _text_steps,
    "function_call": _call_steps,
    "custom_tool_call": _custom_call_steps,
}


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
    custom = {tool.name for tool in answer.asked.tools if tool.custom}
    for call in answer.reply.tool_calls:
        make = _custom_call if call.name in custom else _function_call
        items.append(make(answer, call))
    return items


def _function_call(answer: Answer, call: ToolCall) -> Item:
    return {
        "id": answer.identifier("fc_", 50, hexadecimal=True),
        "type": "function_call",
        "status": "completed",
        "arguments": arguments_text(call),
        "call_id": call.call_id or answer.identifier("call_"),
        "name": call.name,
    }


def _custom_call(answer: Answer, call: ToolCall) -> Item:
    """A call of a tool that takes text, not JSON: its one argument is `input`."""
    return {
        "id": answer.identifier("ctc_", 50, hexadecimal=True),
        "type": "custom_tool_call",
        "status": "completed",
        "input": str(call.arguments.get("input", "")),
        "call_id": call.call_id or answer.identifier("call_"),
        "name": call.name,
    }


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
    if kind in _CALLS:
        return Message("assistant", "", (_read_call(entry),))
    if kind in ("function_call_output", "custom_tool_call_output"):
        return Message("tool", plain(entry.get("output")), (), str(entry.get("call_id")))
    if kind in _SILENT_ITEMS:
        return None
    if kind != "message":
        raise BadRequest(f"Invalid value: '{kind}' is no known type of item.", "input")
    return Message(role_of(entry, "input"), plain(entry.get("content")))


_CALLS: Final = ("function_call", "custom_tool_call")
_SILENT_ITEMS: Final = ("reasoning", "item_reference", "additional_tools", "configuration_update")
"""Items of the input that are no message."""


def _read_call(entry: Mapping[str, Any]) -> ToolCall:
    if entry["type"] == "custom_tool_call":
        arguments: Mapping[str, Any] = {"input": str(entry.get("input") or "")}
    else:
        arguments = parse_arguments(entry.get("arguments"))
    return ToolCall(str(entry.get("name")), arguments, str(entry.get("call_id")))


def _additional_tools(body: Mapping[str, Any]) -> Iterator[Tool]:
    """Tools that come as an item of the input, and stay for the later requests."""
    for item in objects(body, "input"):
        if item.get("type") == "additional_tools":
            yield from _tools(objects(item, "tools"))


def _tools(offered: Iterable[Mapping[str, Any]]) -> Iterator[Tool]:
    for entry in offered:
        if entry.get("type") == "namespace":
            yield from _tools(objects(entry, "tools"))
        elif "name" in entry:
            yield _tool(entry)


def _tool(entry: Mapping[str, Any]) -> Tool:
    return Tool(
        str(entry["name"]),
        str(entry.get("description") or ""),
        mapping(entry.get("parameters")),
        custom=entry.get("type") == "custom",
    )


def _schema(text: Any) -> Mapping[str, Any] | None:
    form = mapping(mapping(text).get("format"))
    if form.get("type") == "json_object":
        return {"type": "object"}
    return mapping(form.get("schema")) or None
