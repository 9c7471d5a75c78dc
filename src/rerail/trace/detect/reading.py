"""A story as detectors read it: tool calls with what came of them, and what was known when.

Worked out once for all detectors. Knows none of them, and judges nothing.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rerail.llm.view import Reasoning, Text, ToolCall, ToolCallResponse
from rerail.trace.detect.call import Call
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.talk import Talk
from rerail.trace.detect.things import Things
from rerail.trace.detect.tools import is_write
from rerail.trace.detect.values import canonical
from rerail.trace.detect.words import identifiers, plain
from rerail.trace.story import Said, Story


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

        A call that is told again under its id before it is answered is one call, as told last. A
        source without ids: answers come in the order of their calls.
        """
        found: list[Call] = []
        waiting: dict[str, deque[int]] = defaultdict(deque)
        for index, said in enumerate(self.said):
            for part in said.message.parts:
                if isinstance(part, ToolCall):
                    if part.call_id and waiting[part.call_id]:
                        found[waiting[part.call_id][0]] = Call(index, part)
                        continue
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
    def acts(self) -> tuple[Call, ...]:
        """Of these, those that reach beyond the agent's own files: what a person is asked about."""
        return tuple(call for call in self.writes if not call.puts_a_file)

    @cached_property
    def made(self) -> tuple[int, ...]:
        """The messages that asked for acts which were not refused, in order."""
        return tuple(call.asked for call in self.acts if not is_error(call))

    @cached_property
    def answers(self) -> dict[int, Call]:
        """The calls by the messages that answer them; of several in one message the last."""
        return {call.answered: call for call in self.calls if call.answered is not None}

    @cached_property
    def things(self) -> Things:
        """What tools told of things that have identifiers."""
        return Things(self.calls)

    @cached_property
    def talk(self) -> Talk:
        """What was said between people and the model."""
        return Talk(self.said)

    @cached_property
    def instructions(self) -> str:
        """What the run was told to begin with."""
        return "\n".join(one.message.text for one in self.said if one.message.role == "system")

    @cached_property
    def first_told(self) -> dict[str, int]:
        """The message in which each identifier was first told to the model."""
        found: dict[str, int] = {}
        for index, one in enumerate(self.said):
            for thing in identifiers(told(one)):
                found.setdefault(thing, index)
        return found

    @cached_property
    def told_texts(self) -> list[str]:
        """What each message told the model, in small letters; nothing for the model's own."""
        return [told(one).lower() for one in self.said]

    @cached_property
    def _spoken_and_told(self) -> list[tuple[str, str]]:
        """Each message's words in plain form, with blanks and without."""
        texts = [plain(told(one) or one.message.text) for one in self.said]
        return [(text, text.replace(" ", "")) for text in texts]

    def was_said(self, thing: str, before: int) -> bool:
        """Whether any message before this one holds an identifier, however it is parted."""
        whole, joined = plain(thing), plain(thing).replace(" ", "")
        return any(
            whole in text or joined in squeezed for text, squeezed in self._spoken_and_told[:before]
        )

    def answer_of(self, call: Call) -> Said:
        """The message that answers a call, else the one that asked for it."""
        return self.said[call.asked if call.answered is None else call.answered]


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
