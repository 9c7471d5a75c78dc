"""Rollout files of Codex: `{timestamp, type, payload}` a line.

Source: the files themselves. `response_item` holds items of OpenAI's Responses API, `session_meta`
names the run, `event_msg` tells of tokens, errors and the end. Newer files may be zstd-compressed.
"""

import json
from typing import Any, Final

from rerail.formats.file import Foreign
from rerail.formats.making import Teller, wall_of
from rerail.llm.responses import prompt
from rerail.llm.view import Message, Text, ToolCallResponse, object_of, text_of
from rerail.trace.story import Gap, Story

NAME: Final = "codex"
_KINDS: Final = frozenset(
    ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
)
_ENDS: Final = {"task_complete": "task_complete", "turn_aborted": "turn_aborted"}


def recognises(file: Foreign) -> bool:
    """Whether most lines are such records."""
    found = [record for _, record in file.objects()]
    known = [
        record
        for record in found
        if text_of(record, "type") in _KINDS and isinstance(record.get("payload"), dict)
    ]
    return file.lines and bool(known) and len(known) * 2 > len(found)


def read(file: Foreign) -> list[Story]:
    """The one session of a file."""
    teller = Teller(file.name)
    model, ended, ids = "", "", {"session": ""}
    for line, record in file.objects():
        payload, at = object_of(record, "payload"), wall_of(record.get("timestamp"))
        match record.get("type"):
            case "session_meta":
                ids = {"session": text_of(payload, "id"), "folder": text_of(payload, "cwd")}
                instructions = text_of(payload, "instructions") or text_of(
                    object_of(payload, "base_instructions"), "text"
                )
                if instructions:
                    teller.say(Message("system", (Text(instructions),)), line=line, at=at)
            case "turn_context":
                model = text_of(payload, "model") or model
            case "response_item":
                _say(teller, payload, line, at, model)
            case "event_msg":
                kind = text_of(payload, "type")
                ended = _ENDS.get(kind, ended)
                if kind in ("error", "stream_error"):
                    error = text_of(payload, "message") or kind
                    teller.say(Message("assistant", ()), line=line, at=at, model=model, error=error)
    gaps = [Gap("reasoning is encrypted, or a summary", "what the model took into account")]
    return [teller.story(file, gaps, ended=ended, ids=ids)]


def _say(teller: Teller, item: Any, line: int, at: int | None, model: str) -> None:
    output = item.get("output")
    if isinstance(output, dict):
        item = {**item, "output": json.dumps({"output": text_of(output, "content"), **output})}
    for message in prompt({"input": [item]}).messages:
        parts = tuple(_checked(part) for part in message.parts)
        own = message.role == "assistant"
        if parts:
            teller.say(Message(message.role, parts), line=line, at=at, model=model if own else "")


def _checked(part: Any) -> Any:
    """A tool's output is often JSON that holds the exit status: one other than 0 is an error."""
    if not isinstance(part, ToolCallResponse):
        return part
    try:
        document = json.loads(part.response)
    except (ValueError, RecursionError):
        return part
    if not isinstance(document, dict) or not isinstance(document.get("output"), str):
        return part
    code = object_of(document, "metadata").get("exit_code")
    failed = bool(code) or document.get("success") is False
    return ToolCallResponse(part.call_id, document["output"], is_error=failed)
