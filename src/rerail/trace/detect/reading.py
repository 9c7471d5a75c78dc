"""A story as detectors read it: tool calls with what came of them, and what was known when.

Worked out once for all detectors. Knows none of them, and judges nothing.
"""

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rerail.llm.view import Reasoning, Text, ToolCall, ToolCallResponse
from rerail.trace.detect.tools import is_write
from rerail.trace.story import Said, Story


@dataclass(frozen=True)
class Call:
    """A tool call: the message (by its index) that asks for it, and the one that answers it.

    `answer` and `answered` are None where no message of the source answers it.
    """

    asked: int
    call: ToolCall
    answer: ToolCallResponse | None = None
    answered: int | None = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.call.name

    @property
    def told(self) -> str:
        """What the tool answered, or nothing."""
        return self.answer.response if self.answer else ""

    @cached_property
    def same(self) -> str:
        """Two calls that are alike have the same."""
        return f"{self.call.name} {canonical(self.call.arguments)}"

    @cached_property
    def document(self) -> Any:
        """What the tool answered, where that is JSON."""
        return loaded(self.told)


@dataclass(frozen=True)
class Reading:
    """One story, and what all detectors ask of it. Indexes are those of `story.said`."""

    story: Story

    @property
    def said(self) -> Sequence[Said]:
        """The messages, in order."""
        return self.story.said

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every tool call, in order, joined to its answer by the call's id.

        A source without ids: answers come in the order of their calls.
        """
        found: list[Call] = []
        waiting: dict[str, deque[int]] = defaultdict(deque)
        for index, said in enumerate(self.said):
            for part in said.message.parts:
                if isinstance(part, ToolCall):
                    waiting[part.call_id].append(len(found))
                    found.append(Call(index, part))
                elif isinstance(part, ToolCallResponse) and waiting.get(part.call_id):
                    at = waiting[part.call_id].popleft()
                    found[at] = Call(found[at].asked, found[at].call, part, index)
        return tuple(found)

    @cached_property
    def writes(self) -> tuple[Call, ...]:
        """The calls of tools that change something, as far as their names tell."""
        return tuple(call for call in self.calls if is_write(call.name))

    @cached_property
    def system(self) -> str:
        """The instructions that the run was given."""
        return "\n".join(s.message.text for s in self.said if s.message.role == "system")

    def observed(self, index: int) -> str:
        """What a message told the model; nothing for the model's own."""
        return told(self.said[index])

    def before(self, index: int, role: str) -> int | None:
        """The last message of a role that has words, before this one."""
        for at in range(index - 1, -1, -1):
            message = self.said[at].message
            if message.role == role and message.text.strip():
                return at
        return None


def told(said: Said) -> str:
    """All that a message told the model; nothing for the model's own."""
    if said.message.role == "assistant":
        return ""
    return "\n".join(_words(said))


def spoken(said: Said) -> str:
    """A model's words and the arguments of its calls."""
    parts = [said.message.text]
    parts += [canonical(call.arguments) for call in said.message.tool_calls]
    return "\n".join(parts)


def _words(said: Said) -> Iterator[str]:
    for part in said.message.parts:
        if isinstance(part, Text | Reasoning):
            yield part.content
        elif isinstance(part, ToolCallResponse):
            yield part.response


def canonical(value: Any) -> str:
    """A JSON value as a text that does not depend on the order of keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def loaded(text: str) -> Any:
    """What a text of JSON holds, None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every text, number and truth value in a JSON value, with its path."""
    if depth > 64:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]", depth + 1)
    elif value is not None:
        yield path, value
