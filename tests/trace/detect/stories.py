"""Stories told in a few words, for tests of what detectors read."""

from typing import Any

from rerail.llm.view import Message, Text, ToolCall, ToolCallResponse
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding
from rerail.trace.story import Said, Story


def user(words: str) -> Message:
    """A person says something."""
    return Message("user", (Text(words),))


def says(words: str) -> Message:
    """The model says something."""
    return Message("assistant", (Text(words),))


def calls(name: str, /, call_id: str = "k", **arguments: Any) -> Message:
    """The model wants a tool called."""
    return Message("assistant", (ToolCall(call_id, name, arguments),))


def told(words: str, call_id: str = "k", *, is_error: bool = False) -> Message:
    """A tool answers."""
    return Message("tool", (ToolCallResponse(call_id, words, is_error),))


def story(*messages: Message, system: str = "", **fields: Any) -> Story:
    """All of it."""
    first = (Message("system", (Text(system),)),) if system else ()
    said = [
        Said(number, f"message {number}", message)
        for number, message in enumerate((*first, *messages), start=1)
    ]
    return Story("run", False, tuple(said), **fields)


def reading(*messages: Message, **fields: Any) -> Reading:
    """The same, as a detector is given it."""
    return Reading(story(*messages, **fields))


def names(findings: list[Finding]) -> list[str]:
    """Which detectors spoke, in order."""
    return [finding.detector for finding in findings]
