"""OpenTelemetry's OTLP as JSON, with the GenAI conventions: a document, or one a line.

Source: opentelemetry-proto's JSON mapping, the GenAI semantic conventions up to 1.41, and what
OpenTelemetry's, OpenInference's and Traceloop's instrumentations write. Messages are read where
they were captured (`gen_ai.input.messages`), and in the indexed forms (`rerail.formats.indexed`).
Capturing them is an option that most instrumentations leave off: then there are gaps.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rerail.formats import indexed
from rerail.formats.file import Foreign
from rerail.formats.making import Teller, usage_of, wall_of, whole, whole_number
from rerail.formats.spans import Span, tell
from rerail.llm.arguments import parsed
from rerail.llm.schemas import schemas
from rerail.llm.view import (
    Message,
    Other,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolCallResponse,
    Usage,
    object_of,
    objects_of,
    text_of,
)
from rerail.trace.story import Gap, Story

NAME: Final = "otlp"
_ERROR: Final = (2, "STATUS_CODE_ERROR")
_TOKENS: Final = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
    ("gen_ai.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning"),
)
_NO_WORDS: Final = Gap(
    "model calls without messages: content was not captured", "what was asked and answered"
)
_NO_ARGUMENTS: Final = Gap(
    "tool calls without arguments or results: content was not captured",
    "what each tool was asked to do, and what it answered",
)


def recognises(file: Foreign) -> bool:
    """Whether the values are OTLP traces."""
    return any("resourceSpans" in value for value in file.first_objects())


def read(file: Foreign) -> list[Story]:
    """A story for each trace that has model calls or tool calls; else the first trace's."""
    traces: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for line, span in _spans(file):
        traces.setdefault(text_of(span, "traceId"), []).append((line, span))
    chosen = (
        {trace: spans for trace, spans in traces.items() if any(_operation(s) for _, s in spans)}
        or {trace: spans for trace, spans in traces.items() if any(_is_genai(s) for _, s in spans)}
        or dict(list(traces.items())[:1])
    )
    return [_story(file, trace, spans, len(chosen) > 1) for trace, spans in chosen.items()]


def _spans(file: Foreign) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, value in file.objects():
        for resource in objects_of(value, "resourceSpans"):
            for scope in objects_of(resource, "scopeSpans"):
                for span in objects_of(scope, "spans"):
                    yield line, span


def _is_genai(span: Mapping[str, Any]) -> bool:
    return any(
        text_of(entry, "key").startswith(("gen_ai.", "llm.", "openinference."))
        for entry in objects_of(span, "attributes")
    )


def _story(
    file: Foreign, trace: str, spans: list[tuple[int, Mapping[str, Any]]], several: bool
) -> Story:
    teller = Teller(f"{file.name} {trace}" if several else file.name)
    found = [_span(line, span) for line, span in spans]
    tell(teller, (span for span in found if span is not None))
    gaps = []
    models = [one for one, (_, raw) in zip(found, spans, strict=True) if _operation(raw) == "model"]
    if any(one is None or not (one.asked and one.answered) for one in models) or not models:
        gaps.append(_NO_WORDS)
    if any(one and one.call and (one.told is None or not one.call.arguments) for one in found):
        gaps.append(_NO_ARGUMENTS)
    tools: dict[str, Mapping[str, Any]] = {}
    ids = {"trace": trace}
    for _, raw in spans:
        attributes = _attributes(raw)
        tools |= _tools(attributes)
        if session := attributes.get("gen_ai.conversation.id") or attributes.get("session.id"):
            ids.setdefault("session", str(session))
    return teller.story(file, gaps, tools=tools, ended=_ended(spans), ids=ids)


def _tools(attributes: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The schemas of the tools on offer."""
    offered = parsed(attributes.get("gen_ai.tool.definitions"))
    found = offered if isinstance(offered, list) else list(indexed.tools(attributes))
    return schemas({"tools": [one for one in found if isinstance(one, dict)]})


def _ended(spans: list[tuple[int, Mapping[str, Any]]]) -> str:
    """Whether the span that holds all others ended, and how."""
    for _, span in spans:
        if not text_of(span, "parentSpanId") and wall_of(span.get("endTimeUnixNano")):
            error = _error(span, {})
            return f"error: {error}" if error else "ended"
    return ""


def _operation(span: Mapping[str, Any]) -> str:
    attributes = _attributes(span)
    name = str(attributes.get("gen_ai.operation.name", ""))
    kind = str(attributes.get("openinference.span.kind", "")).upper()
    if name == "execute_tool" or kind == "TOOL":
        return "tool"
    if name in ("chat", "text_completion", "generate_content") or kind == "LLM":
        return "model"
    return "model" if "gen_ai.request.model" in attributes and not name else ""


def _span(line: int, span: Mapping[str, Any]) -> Span | None:
    attributes = _attributes(span)
    start = wall_of(span.get("startTimeUnixNano")) or 0
    end = wall_of(span.get("endTimeUnixNano")) or start
    error = _error(span, attributes)
    match _operation(span):
        case "tool":
            return _tool(span, attributes, Span(start, end, error=error, line=line))
        case "model":
            answered = _messages(attributes, "output")
            return Span(
                start,
                end,
                asked=_messages(attributes, "input"),
                answered=answered,
                model=str(
                    attributes.get("gen_ai.response.model")
                    or attributes.get("gen_ai.request.model")
                    or attributes.get("llm.model_name", "")
                ),
                finish_reason=_finish_reason(attributes),
                usage=_usage(attributes),
                error=error,
                line=line,
                silent=not answered,
            )
    return None


def _error(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    status = object_of(span, "status")
    if not any(status.get("code") == code for code in _ERROR):
        return ""
    return text_of(status, "message") or str(attributes.get("error.type", "error"))


def _finish_reason(attributes: Mapping[str, Any]) -> str:
    reasons = attributes.get("gen_ai.response.finish_reasons")
    reason = reasons[0] if isinstance(reasons, list) and reasons else reasons
    return str(reason or attributes.get("llm.finish_reason") or indexed.finish_reason(attributes))


def _usage(attributes: Mapping[str, Any]) -> Usage | None:
    """Tokens by the names in use: GenAI's, its older ones, OpenInference's."""
    read, written, cached, thought = (
        next((attributes[name] for name in names if name in attributes), None) for names in _TOKENS
    )
    tokens = usage_of(read, written)
    return (
        replace(tokens, cached_tokens=whole(cached), reasoning_tokens=whole(thought))
        if tokens
        else None
    )


def _tool(span: Mapping[str, Any], attributes: Mapping[str, Any], made: Span) -> Span:
    known = attributes.get("gen_ai.tool.call.id")
    call_id = str(known or text_of(span, "spanId"))
    name = attributes.get("gen_ai.tool.name") or attributes.get("tool.name") or span.get("name", "")
    arguments = attributes.get("gen_ai.tool.call.arguments", attributes.get("input.value"))
    told = attributes.get("gen_ai.tool.call.result", attributes.get("output.value"))
    words = told if isinstance(told, str) else made.error or json.dumps(told)
    answer = None
    if told is not None or made.error:
        answer = ToolCallResponse(call_id, words, is_error=bool(made.error))
    call = ToolCall(call_id, str(name), parsed(arguments) if arguments is not None else {})
    return replace(made, error="", call=call, told=answer, own_id=not known)


def _messages(attributes: Mapping[str, Any], side: str) -> tuple[Message, ...]:
    found = []
    if side == "input":
        system = parsed(attributes.get("gen_ai.system_instructions"))
        parts = tuple(_parts(system)) if system else ()
        found += [Message("system", parts)] if parts else []
    value = parsed(attributes.get(f"gen_ai.{side}.messages"))
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict):
            parts = tuple(_parts(entry.get("parts") or entry.get("content")))
            default = "user" if side == "input" else "assistant"
            found.append(Message(text_of(entry, "role") or default, parts))
    return tuple(found) or tuple(indexed.messages(attributes, side))


def _parts(value: Any) -> Iterator[Part]:
    if isinstance(value, str):
        yield Text(value)
    for part in value if isinstance(value, list) else ():
        if not isinstance(part, dict):
            continue
        call_id, kind = text_of(part, "id"), text_of(part, "type")
        match kind:
            case "text":
                yield Text(text_of(part, "content") or text_of(part, "text"))
            case "reasoning":
                yield Reasoning(text_of(part, "content"))
            case "tool_call":
                yield ToolCall(call_id, text_of(part, "name"), parsed(part.get("arguments")))
            case "tool_call_response":
                told = part.get("response", part.get("result"))
                yield ToolCallResponse(call_id, told if isinstance(told, str) else json.dumps(told))
            case _:
                yield Other(kind)


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    return {
        text_of(entry, "key"): _value(object_of(entry, "value"))
        for entry in objects_of(span, "attributes")
    }


def _value(value: Mapping[str, Any]) -> Any:
    """A typed value; 64-bit integers are texts in this form."""
    if "intValue" in value:
        return whole_number(str(value["intValue"]))
    for kind in ("stringValue", "boolValue", "doubleValue"):
        if kind in value:
            return value[kind]
    if "arrayValue" in value:
        return [_value(one) for one in objects_of(object_of(value, "arrayValue"), "values")]
    if "kvlistValue" in value:
        entries = objects_of(object_of(value, "kvlistValue"), "values")
        return {text_of(one, "key"): _value(object_of(one, "value")) for one in entries}
    return None
