"""SWE-agent's `.traj` files: `trajectory` (action, observation, thought), `history`, `info`.

Source: the files themselves. Actions are commands in words; newer files have the tool calls of the
model too, and those are taken where they are.
"""

from collections.abc import Iterator
from typing import Any, Final

from rerail.formats.file import Foreign
from rerail.formats.making import Teller
from rerail.llm.view import (
    Message,
    Text,
    ToolCall,
    ToolCallResponse,
    object_of,
    objects_of,
    text_of,
)
from rerail.trace.story import Gap, Story

NAME: Final = "swe-agent"
_GAPS: Final = (
    Gap("no model's name, no tokens", "what the run cost, and which model answered"),
    Gap("a command's exit status is not kept", "whether a command failed, but for its words"),
)


def recognises(file: Foreign) -> bool:
    """Whether the document has a trajectory of actions."""
    document = file.document
    return isinstance(document, dict) and any(
        "action" in step and "observation" in step for step in objects_of(document, "trajectory")
    )


def read(file: Foreign) -> list[Story]:
    """The one run of a file."""
    document = file.document
    teller = Teller(file.name)
    for message in _before(document):
        teller.say(message)
    for number, step in enumerate(objects_of(document, "trajectory"), start=1):
        command = text_of(step, "action")
        words = text_of(step, "response") or text_of(step, "thought")
        call = ToolCall(f"step {number}", _tool(command), {"command": command})
        parts = (Text(words), call) if words else (call,)
        teller.say(Message("assistant", parts if command.strip() else parts[:1]))
        if command.strip():
            told = ToolCallResponse(call.call_id, text_of(step, "observation"))
            teller.say(Message("tool", (told,)))
    info = object_of(document, "info")
    return [teller.story(file, _GAPS, ended=text_of(info, "exit_status"))]


def _before(document: dict[str, Any]) -> Iterator[Message]:
    """What was said before the first action, demonstrations left out."""
    for entry in objects_of(document, "history"):
        role = text_of(entry, "role")
        if role not in ("system", "user"):
            return
        content = entry.get("content")
        if isinstance(content, str) and not entry.get("is_demo"):
            yield Message(role, (Text(content),))


def _tool(command: str) -> str:
    return command.split(maxsplit=1)[0] if command.strip() else "command"
