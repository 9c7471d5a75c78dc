"""Session files of Claude Code, and what its `stream-json` output prints: one record a line.

Source: the files themselves, of builds up to 2.1. A record has `type`, and `message` as the API has
it; the blocks of one reply come as several lines with one `message.id`. A stream names the call
that a sub-agent works for (`parent_tool_use_id`), a session file the sub-agent (`agentId`), whose
words newer builds put into a file of their own. A message of the model `<synthetic>` is the
client's.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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
    sessions: dict[str, _Session] = {}
    for line, record in file.objects():
        name = text_of(record, "sessionId") or text_of(record, "session_id")
        name = name or next(iter(sessions), "")
        if name not in sessions:
            sessions[name] = _Session(name, Teller(file.name))
        sessions[name].take(line, record)
    return [session.story(file) for session in sessions.values()]


@dataclass(slots=True)
class _Session:
    """What was read of a session so far. `reply` collects the lines of one reply."""

    name: str
    teller: Teller
    reply: list[_Line] = field(default_factory=list)
    lanes: set[str] = field(default_factory=set)
    prompted: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    before: Counter[str] = field(default_factory=Counter)
    agents: set[str] = field(default_factory=set)
    chained: bool = False
    shortened: bool = False
    odd: int = 0
    ended: str = ""

    def take(self, line: int, record: dict[str, Any]) -> None:
        """Read a record."""
        if not (self.reply and _same_reply(self.reply[0][1], record)):
            self._flush()
        self.reply.append((line, record))
        self._note(record)

    def _note(self, record: dict[str, Any]) -> None:
        self.chained |= "parentUuid" in record
        self.known.add(text_of(record, "uuid"))
        if parent := text_of(record, "parentUuid"):
            self.before[parent] += 1
        if agent := text_of(object_of(record, "toolUseResult"), "agentId"):
            self.agents.add(agent)
        self.shortened |= record.get("subtype") == "compact_boundary"
        if record.get("type") == "result" and not self.ended:
            self.ended = _how_it_ended(record)

    def _flush(self) -> None:
        lines, self.reply = self.reply, []
        if lines:
            self.odd += not self._say(lines)

    def _say(self, lines: list[_Line]) -> bool:
        """Add what these lines say; False where they have no known form."""
        number, record = lines[0]
        kind, message = text_of(record, "type"), object_of(record, "message")
        lane, at = _lane(record), wall_of(record.get("timestamp"))
        if kind == "attachment":
            beside = Other(f"attachment: {text_of(object_of(record, 'attachment'), 'type')}")
            self.teller.say(Message("system", (beside,)), line=number, at=at, lane=lane)
        if "message" in record:
            self.lanes.add(lane)
        if kind not in ("user", "assistant"):
            return kind in _KINDS or kind in _BESIDE
        parts = [part for _, one in lines for part in one_message(object_of(one, "message")).parts]
        if not parts:
            return False
        role, failed = _role(kind, parts), record.get("isApiErrorMessage") is True
        if role == "user":
            self.prompted.add(lane)
        model = text_of(message, "model")
        self.teller.say(
            Message(role, () if failed else tuple(parts)),
            line=number,
            at=at,
            model=model,
            error=_text(parts) if failed else "",
            lane=lane,
            **({} if model == _SYNTHETIC else _end_of(object_of(lines[-1][1], "message"))),
        )
        return True

    def story(self, file: Foreign) -> Story:
        """The whole. The only lane of a file is its conversation."""
        self._flush()
        alone = next(iter(self.lanes)) if len(self.lanes) == 1 else ""
        if alone:
            self.teller.said[:] = [replace(said, lane="") for said in self.teller.said]
        ids = {"session": self.name, "agent": alone}
        return self.teller.story(file, list(self._gaps(alone)), ended=self.ended, ids=ids)

    def _gaps(self, alone: str) -> Iterator[Gap]:
        yield Gap("no system prompt", "what the agent had been told to do and not to do")
        if alone not in self.prompted:
            yield Gap("no prompt", "what the agent was asked to do")
        if self.odd:
            yield Gap(f"{self.odd} records of no known form", "whatever they hold")
        missing = sum(count for one, count in self.before.items() if one not in self.known)
        if not self.chained:
            yield Gap("no chain of records", "whether a record is missing between two")
        elif missing:
            yield Gap(f"records whose predecessor is not there: {missing}", "what came before them")
        if elsewhere := self.agents - self.lanes:
            names = ", ".join(sorted(elsewhere)[:4])
            yield Gap(f"sub-agents whose words are in files of their own: {names}", "what they did")
        if self.shortened:
            yield Gap(
                "the conversation was shortened on its way",
                "whether what the model no longer saw was needed",
            )


def _lane(record: dict[str, Any]) -> str:
    """The sub-agent that a record belongs to; empty for the main conversation."""
    if call := text_of(record, "parent_tool_use_id"):
        return call
    return (text_of(record, "agentId") or "side") if record.get("isSidechain") is True else ""


def _same_reply(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two records are parts of one reply."""
    if one.get("type") != "assistant" or other.get("type") != "assistant":
        return False
    reply = text_of(object_of(one, "message"), "id")
    return bool(reply) and reply == text_of(object_of(other, "message"), "id")


def _how_it_ended(record: dict[str, Any]) -> str:
    ended = text_of(record, "subtype") or text_of(record, "terminal_reason")
    return f"{ended} (error)" if record.get("is_error") is True else ended


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
