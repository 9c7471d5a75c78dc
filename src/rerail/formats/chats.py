"""Conversations as OpenAI's chat API has them: `messages`, alone or one of many runs.

tau-bench's results (`traj` in each of many runs), mini-swe-agent's (`messages`, `info`), and plain
lists of messages are such files. Rewards and reference actions that stand beside them are judgments
of somebody who knew the answer: they are never read.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from rerail.formats.file import Foreign
from rerail.formats.making import Teller, wall_of
from rerail.llm.chat import one_message
from rerail.llm.schemas import schemas
from rerail.llm.view import error_of, object_of, text_of
from rerail.trace.story import Gap, Story

NAME: Final = "chat-messages"
_ROLES: Final = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
_LISTS: Final = ("traj", "messages", "conversation", "history")


def recognises(file: Foreign) -> bool:
    """Whether the document is a conversation, or a list of runs that each hold one."""
    if file.lines:
        found = file.first_objects()
        return _mostly(_is_message, found) or _mostly(_messages, found)
    return bool(_runs(file.document))


def read(file: Foreign) -> list[Story]:
    """A story for each run."""
    if file.lines and _mostly(_is_message, file.first_objects()):
        return [_story(file, {}, file.objects(), "")]
    found = [run for _, run in file.objects()] if file.lines else _runs(file.document)
    runs = [run for run in found if _holds_a_run(run)]
    several, odd = len(runs) > 1 or file.lines, len(found) - len(runs)
    return [
        _story(file, run, ((0, entry) for entry in _messages(run)), f"run {number}" * several, odd)
        for number, run in enumerate(runs, start=1)
    ]


def _mostly(holds: Callable[[dict[str, Any]], object], found: list[dict[str, Any]]) -> bool:
    return sum(map(bool, map(holds, found))) * 2 > len(found)


def _runs(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        return [document] if _messages(document) else []
    if not isinstance(document, list) or not document:
        return []
    if all(_is_message(entry) for entry in document):
        return [{"messages": document}]
    runs = [entry for entry in document if isinstance(entry, dict) and _holds_a_run(entry)]
    return runs if len(runs) == len(document) and any(map(_messages, runs)) else []


def _holds_a_run(entry: dict[str, Any]) -> bool:
    """A run that ended before anybody spoke has an empty list of messages, and is one of many."""
    return bool(_messages(entry)) or any(entry.get(name) == [] for name in _LISTS)


def _messages(run: dict[str, Any]) -> list[dict[str, Any]]:
    for name in _LISTS:
        found = run.get(name)
        if isinstance(found, list) and found and all(map(_is_message, found)):
            return found
    return []


def _is_message(entry: Any) -> bool:
    return isinstance(entry, dict) and text_of(entry, "role") in _ROLES


def _story(
    file: Foreign,
    run: dict[str, Any],
    messages: Iterable[tuple[int, dict[str, Any]]],
    name: str,
    others: int = 0,
) -> Story:
    teller = Teller(f"{file.name} {name}".strip())
    for line, entry in messages:
        if not _is_message(entry):
            others += 1
            continue
        message = one_message(entry)
        teller.say(
            message,
            line=line,
            at=wall_of(entry.get("timestamp") or entry.get("created_at")),
            model=text_of(entry, "model"),
            finish_reason=text_of(entry, "finish_reason"),
            error=error_of(entry) if message.role == "assistant" else "",
        )
    info = object_of(run, "info")
    ended = text_of(info, "exit_status") or text_of(run, "exit_status")
    ids = {
        "task": _id(run.get("task_id")),
        "trial": _id(run.get("trial")),
        "run": _id(run.get("run_id")),
    }
    gaps = [Gap(f"lines that are no messages: {others}", "what they say")] if others else []
    return teller.story(file, gaps, tools=schemas(run), ended=ended, ids=ids)


def _id(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
