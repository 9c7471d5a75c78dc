"""OpenTelemetry's OTLP as JSON, with the GenAI conventions: a document, or one a line.

Source: opentelemetry-proto's JSON mapping, the GenAI semantic conventions up to 1.41, and what
OpenTelemetry's, OpenInference's and Traceloop's instrumentations write. Messages are read where
they were captured: in a span (`gen_ai.input.messages`, and the forms of `formats.indexed`), or in
log events of it, where both are written to one file. Capturing them is an option that most
instrumentations leave off: then there are gaps.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rerail.formats import indexed
from rerail.formats.file import Foreign
from rerail.formats.making import Teller, usage_of, wall_of, whole
from rerail.formats.otlp_values import Told, attributes_of, told_by
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
    return any("resourceSpans" in one or "resourceLogs" in one for one in file.first_objects())


def read(file: Foreign) -> list[Story]:
    """A story for each trace that has model calls or tool calls; else the first trace's."""
    traces: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    events: dict[str, list[Mapping[str, Any]]] = {}
    for line, value in file.objects():
        for span in _of(value, "resourceSpans", "scopeSpans", "spans"):
            traces.setdefault(text_of(span, "traceId"), []).append((line, span))
        for event in _of(value, "resourceLogs", "scopeLogs", "logRecords"):
            events.setdefault(text_of(event, "spanId"), []).append(event)
    chosen = (
        {trace: spans for trace, spans in traces.items() if any(_operation(s) for _, s in spans)}
        or {trace: spans for trace, spans in traces.items() if any(_is_genai(s) for _, s in spans)}
        or dict(list(traces.items())[:1])
    )
    several = len(chosen) > 1
    return [_story(file, trace, spans, events, several) for trace, spans in chosen.items()]


def _of(value: Mapping[str, Any], *names: str) -> Iterator[Mapping[str, Any]]:
    """The objects in arrays within each other."""
    name, *inner = names
    for one in objects_of(value, name):
        if inner:
            yield from _of(one, *inner)
        else:
            yield one


def _is_genai(span: Mapping[str, Any]) -> bool:
    return any(
        text_of(entry, "key").startswith(("gen_ai.", "llm.", "openinference."))
        for entry in objects_of(span, "attributes")
    )


def _story(
    file: Foreign,
    trace: str,
    spans: list[tuple[int, Mapping[str, Any]]],
    events: Mapping[str, list[Mapping[str, Any]]],
    several: bool,
) -> Story:
    teller = Teller(f"{file.name} {trace}" if several else file.name)
    found = [
        _span(line, span, told_by(events.get(text_of(span, "spanId"), ()))) for line, span in spans
    ]
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
        attributes = attributes_of(raw)
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
    attributes = attributes_of(span)
    name = str(attributes.get("gen_ai.operation.name", ""))
    kind = str(attributes.get("openinference.span.kind", "")).upper()
    if name == "execute_tool" or kind == "TOOL":
        return "tool"
    if name in ("chat", "text_completion", "generate_content") or kind == "LLM":
        return "model"
    return "model" if "gen_ai.request.model" in attributes and not name else ""


def _span(line: int, span: Mapping[str, Any], told: Told) -> Span | None:
    attributes = {**attributes_of(span), **(told.attributes or {})}
    start = wall_of(span.get("startTimeUnixNano")) or 0
    end = wall_of(span.get("endTimeUnixNano")) or start
    error = _error(span, attributes)
    match _operation(span):
        case "tool":
            return _tool(span, attributes, Span(start, end, error=error, line=line))
        case "model":
            answered = _messages(attributes, "output") or told.answered
            return Span(
                start,
                end,
                asked=_messages(attributes, "input") or told.asked,
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
