"""Runs of LangSmith, as its API gives them: a run a line, or a list of them.

Source: what LangChain's client sends (langsmith 0.15), put together a run each. A run has
`run_type`, `inputs`, `outputs`, `trace_id`. Messages come as LangChain's serialized objects
(`{"lc": 1, "kwargs": …}`), as plain ones, or in the form of OpenAI's chat API.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rerail.formats.file import Foreign, Value
from rerail.formats.making import Teller, usage_of, wall_of
from rerail.formats.spans import Span, tell
from rerail.llm.chat import completion, prompt
from rerail.llm.schemas import schemas
from rerail.llm.view import (
    Message,
    ToolCall,
    ToolCallResponse,
    Usage,
    object_of,
    objects_of,
    text_of,
)
from rerail.trace.story import Gap, Story

NAME: Final = "langsmith"
_ROLES: Final = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_READ: Final = frozenset(("llm", "tool", "chain", "prompt", "parser"))
_Run = tuple[int, Mapping[str, Any]]


def recognises(file: Foreign) -> bool:
    """Whether the values are such runs."""
    return any(_is_run(run) for _, run in _runs(file.first))


def _is_run(run: Mapping[str, Any]) -> bool:
    return isinstance(run.get("run_type"), str) and "trace_id" in run and "inputs" in run


def _runs(values: Iterable[Value]) -> Iterator[_Run]:
    for line, value in values:
        found = value.get("runs", value) if isinstance(value, dict) else value
        for run in found if isinstance(found, list) else [found]:
            if isinstance(run, dict):
                yield line, run


def read(file: Foreign) -> list[Story]:
    """A story for each trace."""
    traces: dict[str, list[_Run]] = {}
    for line, run in _runs(file.values):
        if _is_run(run):
            traces.setdefault(text_of(run, "trace_id"), []).append((line, run))
    several = len(traces) > 1
    return [_story(file, trace, runs, several) for trace, runs in traces.items()]


def _story(file: Foreign, trace: str, runs: list[_Run], several: bool) -> Story:
    teller = Teller(f"{file.name} {trace}" if several else file.name)
    tell(teller, (span for line, run in runs if (span := _span(line, run))))
    tools: dict[str, Mapping[str, Any]] = {}
    for _, run in runs:
        tools |= schemas(object_of(object_of(run, "extra"), "invocation_params"))
    others = Counter(kind for _, run in runs if (kind := text_of(run, "run_type")) not in _READ)
    told = ", ".join(f"{kind} {count}" for kind, count in others.items())
    gaps = [Gap(f"runs that are no conversation: {told}", "what they hold")] if others else []
    root = next((run for _, run in runs if not run.get("parent_run_id")), {})
    ids = {"trace": trace, "project": text_of(root, "session_name")}
    return teller.story(file, gaps, tools=tools, ended=_ended(root), ids=ids)


def _ended(root: Mapping[str, Any]) -> str:
    if text_of(root, "error"):
        return f"error: {_first_line(text_of(root, 'error'))}"
    return "ended" if root.get("end_time") else ""


def _first_line(error: str) -> str:
    return error.splitlines()[0] if error else ""


def _span(line: int, run: Mapping[str, Any]) -> Span | None:
    start = wall_of(run.get("start_time")) or 0
    made = Span(start, wall_of(run.get("end_time")) or start, line=line)
    match run.get("run_type"):
        case "tool":
            return _tool(run, made)
        case "llm":
            return _model(run, made)
    return None


def _tool(run: Mapping[str, Any], made: Span) -> Span:
    told, known = _told(run), text_of(object_of(run, "extra"), "tool_call_id")
    call_id = known or text_of(run, "id")
    inputs = object_of(run, "inputs")
    arguments = inputs["input"] if set(inputs) == {"input"} else dict(inputs)
    return Span(
        made.start,
        made.end,
        call=ToolCall(call_id, text_of(run, "name"), arguments),
        told=None
        if told is None
        else ToolCallResponse(call_id, told, is_error=bool(run.get("error"))),
        line=made.line,
        own_id=not known,
    )


def _told(run: Mapping[str, Any]) -> str | None:
    if text_of(run, "error"):
        return text_of(run, "error")
    outputs = object_of(run, "outputs")
    if not outputs:
        return None
    output = outputs.get("output", outputs)
    content = _plain(output).get("content") if isinstance(output, dict) else output
    return content if isinstance(content, str) else json.dumps(output, ensure_ascii=False)


def _model(run: Mapping[str, Any], made: Span) -> Span:
    inputs, outputs = object_of(run, "inputs"), object_of(run, "outputs")
    generation, message = _generation(outputs)
    about = object_of(message, "response_metadata")
    called = object_of(object_of(run, "extra"), "invocation_params")
    answered = _message(message) if message else completion(outputs).message
    return Span(
        made.start,
        made.end,
        asked=tuple(_message(one) for one in _batch(inputs.get("messages"))),
        answered=(answered,) if answered else (),
        model=text_of(about, "model_name") or text_of(called, "model"),
        finish_reason=text_of(object_of(generation, "generation_info"), "finish_reason")
        or text_of(about, "finish_reason"),
        usage=_usage(message, run),
        error=_first_line(text_of(run, "error")),
        line=made.line,
        silent=answered is None,
    )


def _generation(outputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The first of what was answered: LangChain has a list for each prompt of a batch."""
    first = next(iter(_batch(outputs.get("generations"))), {})
    return first, _plain(object_of(first, "message"))


def _batch(value: Any) -> list[Mapping[str, Any]]:
    """What belongs to a batch's first entry; or the list itself, where there is no batch."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _plain(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without the shell of LangChain's serialization."""
    return object_of(message, "kwargs") or object_of(message, "data") or message


def _message(entry: Mapping[str, Any]) -> Message:
    plain = _plain(entry)
    role = text_of(plain, "role") or text_of(plain, "type") or text_of(entry, "type")
    role = _ROLES.get(role, role)
    if role == "assistant" and any("args" in call for call in objects_of(plain, "tool_calls")):
        calls = tuple(
            ToolCall(text_of(call, "id"), text_of(call, "name"), call.get("args"))
            for call in objects_of(plain, "tool_calls")
        )
        said = _in_chat_form({**plain, "tool_calls": None}, role)
        return Message(role, (*said.parts, *calls))
    message = _in_chat_form(plain, role)
    failed = text_of(plain, "status") == "error"
    parts = tuple(
        ToolCallResponse(part.call_id, part.response, is_error=failed)
        if isinstance(part, ToolCallResponse)
        else part
        for part in message.parts
    )
    return Message(message.role, parts)


def _in_chat_form(plain: Mapping[str, Any], role: str) -> Message:
    return prompt({"messages": [{**plain, "role": role}]}).messages[0]


def _usage(message: Mapping[str, Any], run: Mapping[str, Any]) -> Usage | None:
    counted = object_of(message, "usage_metadata")
    return usage_of(counted.get("input_tokens"), counted.get("output_tokens")) or usage_of(
        run.get("prompt_tokens"), run.get("completion_tokens")
    )
