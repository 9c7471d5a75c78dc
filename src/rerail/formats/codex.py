"""Rollout files of Codex: `{timestamp, type, payload}` a line.

Source: the files themselves, of builds up to 0.171. `response_item` holds items of OpenAI's
Responses API, `session_meta` names the run, `event_msg` tells of commands, tokens, errors and the
end. The items of one reply come a line each. Newer files may be zstd-compressed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rerail.formats.file import Foreign
from rerail.formats.making import Teller, wall_of
from rerail.llm.responses import prompt
from rerail.llm.schemas import schemas
from rerail.llm.view import (
    Message,
    Part,
    Reasoning,
    Text,
    ToolCallResponse,
    Usage,
    count_of,
    object_of,
    text_of,
)
from rerail.trace.story import Gap, Story

NAME: Final = "codex"
_KINDS: Final = frozenset(
    (
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "token_usage_record",
    )
)
_ENDS: Final = frozenset(("task_complete", "turn_aborted"))
_ERRORS: Final = frozenset(("error", "stream_error"))
_COMMANDS: Final = frozenset(("exec_command_end", "item_completed"))
_SHORTENED: Final = Gap(
    "the conversation was shortened on its way", "whether what the model no longer saw was needed"
)
_HIDDEN: Final = Gap("reasoning is encrypted, or a summary", "what the model took into account")


def recognises(file: Foreign) -> bool:
    """Whether most lines are such records."""
    found = file.first_objects()
    known = [
        record
        for record in found
        if text_of(record, "type") in _KINDS and isinstance(record.get("payload"), dict)
    ]
    return file.lines and bool(known) and len(known) * 2 > len(found)


def read(file: Foreign) -> list[Story]:
    """The one session of a file."""
    rollout = _Rollout(Teller(file.name))
    for line, record in file.objects():
        rollout.take(line, record)
    rollout.flush()
    gaps = [_HIDDEN] * rollout.hidden + [_SHORTENED] * rollout.shortened
    story = rollout.teller.story(
        file, gaps, tools=rollout.tools, ended=rollout.ended, ids=rollout.ids
    )
    return [story]


@dataclass(slots=True)
class _Rollout:
    """What was read so far. `reply` collects the items of one answer of the model."""

    teller: Teller
    ids: dict[str, str] = field(default_factory=dict)
    tools: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    model: str = ""
    ended: str = ""
    hidden: bool = False
    shortened: bool = False
    instructions: str = ""
    command_failed: bool = False
    reply: list[Part] = field(default_factory=list)
    where: tuple[int, int | None] = (0, None)

    def take(self, line: int, record: dict[str, Any]) -> None:
        """Read a record."""
        payload, at = object_of(record, "payload"), wall_of(record.get("timestamp"))
        match record.get("type"):
            case "session_meta":
                self._begin(payload, line, at)
            case "turn_context":
                self.model = text_of(payload, "model") or self.model
            case "response_item":
                self._item(payload, line, at)
            case "token_usage_record":
                self.flush(_usage(object_of(payload, "usage")))
            case "compacted":
                self.flush()
                self.shortened = True
                if words := text_of(payload, "message"):
                    self.teller.say(Message("user", (Text(words),)), line=line, at=at)
            case "event_msg":
                self._event(payload, line, at)

    def _begin(self, payload: Any, line: int, at: int | None) -> None:
        self.ids = {"session": text_of(payload, "id"), "folder": text_of(payload, "cwd")}
        base = object_of(payload, "base_instructions")
        self.instructions = text_of(payload, "instructions") or text_of(base, "text")
        if self.instructions:
            self.teller.say(Message("system", (Text(self.instructions),)), line=line, at=at)

    def _event(self, payload: Any, line: int, at: int | None) -> None:
        kind = text_of(payload, "type")
        if kind in _ENDS:
            failure = text_of(object_of(payload, "error"), "message")
            self._failed(failure, line, at)
            self.ended = f"{kind} (error)" if failure else kind
        elif kind in _ERRORS:
            self._failed(text_of(payload, "message") or kind, line, at)
        elif kind == "token_count":
            self.flush(_usage(object_of(object_of(payload, "info"), "last_token_usage")))
        elif kind in _COMMANDS:
            command = object_of(payload, "item") or payload
            self.command_failed |= bool(count_of(command, "exit_code"))

    def _failed(self, error: str, line: int, at: int | None) -> None:
        """What came instead of a reply, where anything did."""
        self.flush()
        if error:
            nothing = Message("assistant", ())
            self.teller.say(nothing, line=line, at=at, model=self.model, error=error)

    def _item(self, item: Any, line: int, at: int | None) -> None:
        if item.get("type") == "additional_tools":
            self.tools |= schemas({"input": [item]})
        output = item.get("output")
        if isinstance(output, dict):
            item = {**item, "output": json.dumps({"output": text_of(output, "content"), **output})}
        for message in prompt({"input": [item]}).messages:
            self._message(message, line, at)

    def _message(self, message: Message, line: int, at: int | None) -> None:
        parts = tuple(self._checked(part) for part in message.parts)
        self.hidden |= any(isinstance(part, Reasoning) for part in parts)
        if message.role == "assistant":
            self.where = self.where if self.reply else (line, at)
            self.reply += parts
            return
        self.flush()
        if parts and message.text != self.instructions:
            self.teller.say(Message(message.role, parts), line=line, at=at)

    def flush(self, usage: Usage | None = None) -> None:
        """Say the reply that was collected."""
        if self.reply:
            line, at = self.where
            said = Message("assistant", tuple(self.reply))
            self.teller.say(said, line=line, at=at, model=self.model, usage=usage)
            self.reply = []

    def _checked(self, part: Part) -> Part:
        """A tool's output, an error where a command of it failed: older builds put the exit status
        beside the output, newer ones tell it in an event before."""
        if not isinstance(part, ToolCallResponse):
            return part
        failed, self.command_failed = self.command_failed, False
        words, status = _unwrapped(part.response)
        return ToolCallResponse(part.call_id, words, is_error=failed or status)


def _unwrapped(output: str) -> tuple[str, bool]:
    try:
        document = json.loads(output)
    except (ValueError, RecursionError):
        return output, False
    if not isinstance(document, dict) or not isinstance(document.get("output"), str):
        return output, False
    code = object_of(document, "metadata").get("exit_code")
    return document["output"], bool(code) or document.get("success") is False


def _usage(usage: Any) -> Usage | None:
    read, written = count_of(usage, "input_tokens"), count_of(usage, "output_tokens")
    if read is None and written is None:
        return None
    cached = count_of(usage, "cached_input_tokens")
    return Usage(read, written, cached, count_of(usage, "reasoning_output_tokens"))
