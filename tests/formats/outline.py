"""A story in a few words a message: who said what kind of thing, in which lane."""

from rerail.llm.view import Message, Other, Part, Text, ToolCall, ToolCallResponse
from rerail.trace.story import Said, Story


def outline(story: Story) -> list[str]:
    """A line a message: `assistant: words, → Bash`, `tool: ✗`."""
    return [_line(said) for said in story.said]


def _line(said: Said) -> str:
    lane = "  beside: " if said.lane else ""
    parts = [*dict.fromkeys(map(_part, said.message.parts)), *(["error"] if said.error else [])]
    return f"{lane}{said.message.role}: {', '.join(parts)}"


def _part(part: Part) -> str:
    match part:
        case Text():
            return "words"
        case ToolCall():
            return f"→ {part.name}"
        case ToolCallResponse():
            return "✗" if part.is_error else "←"
        case Other():
            return f"({part.kind})"
    return type(part).__name__.lower()


def messages(story: Story, role: str) -> list[Message]:
    """The messages of one role."""
    return [said.message for said in story.said if said.message.role == role]
