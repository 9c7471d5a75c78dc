"""Session files of Claude Code, and what its `stream-json` output prints: one record a line.

Source: the files themselves, of builds up to 2.1. A record has `type`, and `message` as the API has
it; the blocks of one reply come as several lines with one `message.id`. A stream names the call
that a sub-agent works for (`parent_tool_use_id`), a session file the sub-agent (`agentId`), whose
words newer builds put into a file of their own. A message of the model `<synthetic>` is the
client's.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from rerail.formats.file import Foreign
from rerail.formats.making import Teller, wall_of
from rerail.llm.anthropic import completion, one_message
from rerail.llm.view import (
    Message,
    Other,
    Part,
    Text,
    ToolCallResponse,
    Usage,
    count_of,
    object_of,
    text_of,
)
from rerail.trace.story import Gap, Story

NAME: Final = "claude-code"
_KINDS: Final = frozenset(("user", "assistant", "system", "result", "summary"))
_BESIDE: Final = frozenset(
    (
        "ai-title",
        "attachment",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "pr-link",
        "progress",
        "queue-operation",
        "rate_limit_event",
        "stream_event",
        "tag",
    )
)
"""What such files hold beside the conversation."""
_SYNTHETIC: Final = "<synthetic>"
_Line = tuple[int, dict[str, Any]]


def recognises(file: Foreign) -> bool:
    """Whether most lines are such records, and some are of the conversation."""
    found = file.first_objects()
    told = [
        record
        for record in found
        if text_of(record, "type") in _KINDS
        and ("message" in record or "sessionId" in record or "session_id" in record)
    ]
    known = len(told) + sum(text_of(record, "type") in _BESIDE for record in found)
    return file.lines and bool(told) and known * 2 > len(found)


def read(file: Foreign) -> list[Story]:
    """A story for each session; sub-agents are lanes of theirs."""
    sessions: dict[str, list[_Line]] = {}
    for line, record in file.objects():
        session = text_of(record, "sessionId") or text_of(record, "session_id")
        sessions.setdefault(session or next(iter(sessions), ""), []).append((line, record))
    return [_story(file, session, records) for session, records in sessions.items()]


def _story(file: Foreign, session: str, records: list[_Line]) -> Story:
    teller = Teller(file.name)
    odd = 0
    lanes = {_lane(record) for _, record in records if "message" in record}
    alone = next(iter(lanes)) if len(lanes) == 1 else ""
    for _, group in groupby(records, key=_reply):
        odd += not _say(teller, list(group), alone)
    end = next((record for _, record in records if record.get("type") == "result"), {})
    ended = text_of(end, "subtype") or text_of(end, "terminal_reason")
    ended = f"{ended} (error)" if end.get("is_error") is True else ended
    gaps = list(_gaps([record for _, record in records], lanes, alone, odd))
    return teller.story(file, gaps, ended=ended, ids={"session": session, "agent": alone})


def _lane(record: dict[str, Any]) -> str:
    """The sub-agent that a record belongs to; empty for the main conversation."""
    if call := text_of(record, "parent_tool_use_id"):
        return call
    return (text_of(record, "agentId") or "side") if record.get("isSidechain") is True else ""


def _gaps(records: list[dict[str, Any]], lanes: set[str], alone: str, odd: int) -> Iterator[Gap]:
    yield Gap("no system prompt", "what the agent had been told to do and not to do")
    main = [one for one in records if one.get("type") == "user" and _lane(one) == alone]
    if all(map(_answers, main)):
        yield Gap("no prompt", "what the agent was asked to do")
    if odd:
        yield Gap(f"{odd} records of no known form", "whatever they hold")
    if not any("parentUuid" in record for record in records):
        yield Gap("no chain of records", "whether a record is missing between two")
    elif missing := _missing(records):
        yield Gap(f"records whose predecessor is not there: {missing}", "what came before them")
    elsewhere = _agents(records) - lanes
    if elsewhere:
        names = ", ".join(sorted(elsewhere)[:4])
        yield Gap(f"sub-agents whose words are in files of their own: {names}", "what they did")
    if any(record.get("subtype") == "compact_boundary" for record in records):
        yield Gap(
            "the conversation was shortened on its way",
            "whether what the model no longer saw was needed",
        )


def _answers(record: dict[str, Any]) -> bool:
    """Whether a user's record is a tool's answer."""
    parts = one_message(object_of(record, "message")).parts
    return any(isinstance(part, ToolCallResponse) for part in parts)


def _missing(records: list[dict[str, Any]]) -> int:
    known = {text_of(record, "uuid") for record in records}
    before = Counter(text_of(record, "parentUuid") for record in records)
    return sum(count for parent, count in before.items() if parent and parent not in known)


def _agents(records: list[dict[str, Any]]) -> set[str]:
    """The sub-agents that answered to calls of this file."""
    found = (text_of(object_of(record, "toolUseResult"), "agentId") for record in records)
    return {agent for agent in found if agent}


def _reply(line: _Line) -> object:
    """What lines of one reply have in common; any other line is for itself."""
    number, record = line
    message = object_of(record, "message")
    if record.get("type") == "assistant" and text_of(message, "id"):
        return text_of(message, "id")
    return number


def _say(teller: Teller, lines: list[_Line], alone: str) -> bool:
    """Add what these lines say; False where they have no known form."""
    number, record = lines[0]
    kind, message = text_of(record, "type"), object_of(record, "message")
    lane = "" if alone else _lane(record)
    at = wall_of(record.get("timestamp"))
    if kind == "attachment":
        beside = Other(f"attachment: {text_of(object_of(record, 'attachment'), 'type')}")
        teller.say(Message("system", (beside,)), line=number, at=at, lane=lane)
    if kind not in ("user", "assistant"):
        return kind in _KINDS or kind in _BESIDE
    found = [part for _, one in lines for part in one_message(object_of(one, "message")).parts]
    if not found:
        return False
    failed = record.get("isApiErrorMessage") is True
    last = object_of(lines[-1][1], "message")
    teller.say(
        Message(_role(kind, found), () if failed else tuple(found)),
        line=number,
        at=at,
        model=text_of(message, "model"),
        error=_text(found) if failed else "",
        lane=lane,
        **({} if text_of(message, "model") == _SYNTHETIC else _end_of(last)),
    )
    return True


def _role(kind: str, parts: list[Part]) -> str:
    if kind == "user":
        return "tool" if any(isinstance(part, ToolCallResponse) for part in parts) else "user"
    return "assistant"


def _end_of(message: Any) -> dict[str, Any]:
    """Why a reply ended, and its tokens. A stream prints a reply's parts before its end: what was
    written is not counted then."""
    if count_of(message, "usage", "input_tokens") is None:
        return {"finish_reason": text_of(message, "stop_reason")}
    said = completion({**message, "content": []})
    usage = said.usage
    if not said.finish_reason:
        usage = Usage(usage.input_tokens, None, usage.cached_tokens)
    return {"finish_reason": said.finish_reason, "usage": usage}


def _text(parts: list[Part]) -> str:
    return " ".join(part.content for part in parts if isinstance(part, Text)) or "error"
