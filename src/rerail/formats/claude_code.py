"""Session files of Claude Code, and what its `stream-json` output prints: one record a line.

Source: the files themselves. A record has `type` (`user`, `assistant`, `system`, `result`,
`summary`), and `message` as the API has it; the blocks of one reply come as several lines with one
`message.id`. A stream has no `uuid`s and ends with `result`.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from rerail.formats.file import Foreign
from rerail.formats.making import Teller, wall_of
from rerail.llm.anthropic import completion, prompt
from rerail.llm.view import Message, count_of, object_of, text_of
from rerail.trace.story import Gap, Story

NAME: Final = "claude-code"
_KINDS: Final = frozenset(("user", "assistant", "system", "result", "summary"))
_Line = tuple[int, dict[str, Any]]


def recognises(file: Foreign) -> bool:
    """Whether most lines are such records."""
    found = [record for _, record in file.objects()]
    known = [
        record
        for record in found
        if text_of(record, "type") in _KINDS
        and ("message" in record or "sessionId" in record or "session_id" in record)
    ]
    return file.lines and bool(known) and len(known) * 2 > len(found)


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
    for _, group in groupby(records, key=_reply):
        lines = list(group)
        odd += not _say(teller, lines)
    end = next((record for _, record in records if record.get("type") == "result"), {})
    gaps = [Gap("no system prompt", "what the agent had been told to do and not to do")]
    if odd:
        gaps.append(Gap(f"{odd} records of no known form", "whatever they hold"))
    if not any(text_of(record, "uuid") for _, record in records):
        gaps.append(Gap("no chain of records", "whether a record is missing between two"))
    ended = text_of(end, "subtype") or text_of(end, "terminal_reason")
    ended = f"{ended} (error)" if end.get("is_error") is True else ended
    return teller.story(file, gaps, ended=ended, ids={"session": session})


def _reply(line: _Line) -> object:
    """What lines of one reply have in common; any other line is for itself."""
    number, record = line
    message = object_of(record, "message")
    if record.get("type") == "assistant" and text_of(message, "id"):
        return text_of(message, "id")
    return number


def _say(teller: Teller, lines: list[_Line]) -> bool:
    """Add what these lines say; False where they have no known form."""
    number, record = lines[0]
    kind, message = text_of(record, "type"), object_of(record, "message")
    if kind not in ("user", "assistant"):
        return kind in _KINDS
    found = [part for _, one in lines for part in _parts(object_of(one, "message"))]
    if not found:
        return False
    role = "user" if kind == "user" else "assistant"
    if any(type(part).__name__ == "ToolCallResponse" for part in found):
        role = "tool"
    last = completion({"type": "message", **object_of(lines[-1][1], "message")})
    failed = record.get("isApiErrorMessage") is True
    teller.say(
        Message(role, () if failed else tuple(found)),
        line=number,
        at=wall_of(record.get("timestamp")),
        model=text_of(message, "model"),
        finish_reason=last.finish_reason,
        usage=last.usage if count_of(message, "usage", "input_tokens") is not None else None,
        error=_text(found) if failed else "",
        lane="side" if record.get("isSidechain") is True else "",
    )
    return True


def _parts(message: Any) -> Iterator[Any]:
    for one in prompt({"messages": [message]}).messages:
        yield from one.parts


def _text(parts: list[Any]) -> str:
    return " ".join(getattr(part, "content", "") for part in parts) or "error"
