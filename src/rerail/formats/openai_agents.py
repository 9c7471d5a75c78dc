"""Traces of OpenAI's Agents SDK: `trace` and `trace.span` objects, a line each or in one document.

Source: what the SDK's own exporter sends (0.24): a document a batch. A `response` span holds the
response's id and its tokens, and not what was said: such an export alone loses the model's words. A
tool's span has no id of the call.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from rerail.formats.file import Foreign, Value
from rerail.formats.making import Teller, usage_of, wall_of
from rerail.formats.spans import Span, tell
from rerail.llm.arguments import parsed
from rerail.llm.chat import prompt
from rerail.llm.view import Message, ToolCall, ToolCallResponse, object_of, objects_of, text_of
from rerail.trace.story import Gap, Story

NAME: Final = "openai-agents"
_READ: Final = frozenset(("generation", "function", "response", "custom", "agent", "task", "turn"))
_NO_WORDS: Final = Gap(
    "model calls whose words are not in the export", "what the model was asked and what it said"
)


def recognises(file: Foreign) -> bool:
    """Whether the values are traces and spans."""
    return any(entry.get("object") == "trace.span" for _, entry in _entries(file.first))


def read(file: Foreign) -> list[Story]:
    """A story for each trace."""
    entries = list(_entries(file.values))
    names = {
        text_of(entry, "id"): text_of(entry, "workflow_name")
        for _, entry in entries
        if entry.get("object") == "trace"
    }
    traces: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for line, entry in entries:
        if entry.get("object") == "trace.span":
            traces.setdefault(text_of(entry, "trace_id"), []).append((line, entry))
    return [_story(file, trace, names, spans, len(traces) > 1) for trace, spans in traces.items()]


def _entries(values: Iterable[Value]) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, value in values:
        found = value.get("data", value) if isinstance(value, dict) else value
        for entry in found if isinstance(found, list) else [found]:
            if isinstance(entry, dict):
                yield line, entry


def _story(
    file: Foreign,
    trace: str,
    names: dict[str, str],
    entries: list[tuple[int, dict[str, Any]]],
    several: bool,
) -> Story:
    teller = Teller(f"{file.name} {trace}" if several else file.name)
    tell(teller, (_span(line, entry) for line, entry in entries))
    kinds = Counter(text_of(object_of(entry, "span_data"), "type") for _, entry in entries)
    gaps = [_NO_WORDS] if kinds["response"] else []
    others = [f"{kind} {count}" for kind, count in kinds.items() if kind and kind not in _READ]
    if others:
        gaps.append(Gap(f"spans that are no conversation: {', '.join(others)}", "what they hold"))
    ids = {"trace": trace, "workflow": names.get(trace, "")}
    return teller.story(file, gaps, ended=_ended(entries), ids=ids)


def _ended(entries: list[tuple[int, dict[str, Any]]]) -> str:
    """Whether the span that holds all others ended, and how."""
    for _, entry in entries:
        if not entry.get("parent_id") and entry.get("ended_at"):
            error = text_of(object_of(entry, "error"), "message")
            return f"error: {error}" if error else "ended"
    return ""


def _span(line: int, entry: dict[str, Any]) -> Span:
    data = object_of(entry, "span_data")
    start = wall_of(entry.get("started_at")) or 0
    end = wall_of(entry.get("ended_at")) or start
    error = text_of(object_of(entry, "error"), "message")
    match data.get("type"):
        case "function":
            call_id = text_of(entry, "id")
            told = data.get("output")
            words = told if isinstance(told, str) else error or json.dumps(told)
            return Span(
                start,
                end,
                call=ToolCall(call_id, text_of(data, "name"), parsed(data.get("input"))),
                told=ToolCallResponse(call_id, words, is_error=bool(error))
                if told is not None or error
                else None,
                line=line,
                own_id=True,
            )
        case "generation":
            usage = object_of(data, "usage")
            return Span(
                start,
                end,
                asked=prompt({"messages": objects_of(data, "input")}).messages,
                answered=_answers(data),
                model=text_of(data, "model"),
                usage=usage_of(usage.get("input_tokens"), usage.get("output_tokens")),
                error=error,
                line=line,
            )
        case "response":
            usage = object_of(data, "usage")
            tokens = usage_of(usage.get("input_tokens"), usage.get("output_tokens"))
            return Span(start, end, usage=tokens, error=error, line=line, silent=True)
    return Span(start, end, line=line)


def _answers(data: dict[str, Any] | Any) -> tuple[Message, ...]:
    found = prompt({"messages": objects_of(data, "output")}).messages
    return tuple(Message("assistant", message.parts) for message in found)
