"""Session files of Qwen Code: a record a line, its content in the form of Google's API.

Source: the files themselves, of builds up to 0.15 (`chats/*.jsonl`). They look like Claude Code's
(`sessionId`, `uuid`, `parentUuid`), and hold `message.parts` where those hold `message.content`.
"""

from typing import Any, Final

from rerail.formats.file import Foreign
from rerail.formats.making import Teller, wall_of
from rerail.llm.gemini import completion, prompt
from rerail.llm.view import Message, Part, ToolCallResponse, object_of, objects_of, text_of
from rerail.trace.story import Gap, Story

NAME: Final = "qwen-code"
_KINDS: Final = frozenset(("user", "assistant", "tool_result", "system"))
_Line = tuple[int, dict[str, Any]]


def recognises(file: Foreign) -> bool:
    """Whether the lines are records of a session, and messages among them have parts."""
    found = file.first_objects()
    known = [one for one in found if text_of(one, "type") in _KINDS and "sessionId" in one]
    told = any("parts" in object_of(one, "message") for one in known)
    return file.lines and told and len(known) * 2 > len(found)


def read(file: Foreign) -> list[Story]:
    """A story for each session."""
    sessions: dict[str, list[_Line]] = {}
    for line, record in file.objects():
        session = text_of(record, "sessionId") or next(iter(sessions), "")
        sessions.setdefault(session, []).append((line, record))
    return [_story(file, session, records) for session, records in sessions.items()]


def _story(file: Foreign, session: str, records: list[_Line]) -> Story:
    teller = Teller(file.name)
    for line, record in records:
        if "message" in record:
            _say(teller, line, record)
        elif error := _failure(record):
            at, model = wall_of(record.get("timestamp")), text_of(_event(record), "model")
            teller.say(Message("assistant", ()), line=line, at=at, model=model, error=error)
    gaps = [Gap("no system prompt", "what the agent had been told to do and not to do")]
    told = sum(
        text_of(_event(record), "event.name").endswith(".tool_call") for _, record in records
    )
    unseen = told - sum(record.get("type") == "tool_result" for _, record in records)
    if unseen > 0:
        gaps.append(Gap(f"tool calls that are only counted: {unseen}", "what sub-agents did"))
    folder = next((text_of(record, "cwd") for _, record in records), "")
    return teller.story(file, gaps, ids={"session": session, "folder": folder})


def _event(record: dict[str, Any]) -> Any:
    return object_of(object_of(record, "systemPayload"), "uiEvent")


def _failure(record: dict[str, Any]) -> str:
    """What a model call came to that brought no message."""
    event = _event(record)
    if not text_of(event, "event.name").endswith(".api_error"):
        return ""
    return text_of(event, "error_message") or "error"


def _say(teller: Teller, line: int, record: dict[str, Any]) -> None:
    (message,) = prompt({"contents": [object_of(record, "message")]}).messages
    failed = object_of(record, "toolCallResult").get("status") in ("error", "cancelled")
    words = objects_of(object_of(record, "message"), "parts")
    parts = tuple(_told(part, raw, failed) for part, raw in zip(message.parts, words, strict=True))
    usage = completion(record).usage if "usageMetadata" in record else None
    own = message.role == "assistant"
    teller.say(
        Message(message.role, parts),
        line=line,
        at=wall_of(record.get("timestamp")),
        model=text_of(record, "model") if own else "",
        usage=usage,
    )


def _told(part: Part, raw: Any, failed: bool) -> Part:
    """A tool's answer in its own words: `output`, or `error`."""
    if not isinstance(part, ToolCallResponse):
        return part
    response = object_of(object_of(raw, "functionResponse"), "response")
    error = text_of(response, "error")
    words = text_of(response, "output") or error or part.response
    return ToolCallResponse(part.call_id, words, is_error=failed or bool(error))
