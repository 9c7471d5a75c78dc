"""An imported conversation as a source of a case: each message a record. Knows no file format."""

from collections.abc import Iterator

from rerail.errors import NotOnTape
from rerail.llm.view import ToolCall, ToolCallResponse
from rerail.tape.event import Event
from rerail.trace.record import Record
from rerail.trace.story import Gap, Said, Story


class StorySource:
    """One conversation, read already. What such a file cannot show is in its gaps."""

    recorded = False
    whole = False

    def __init__(self, name: str, title: str, story: Story) -> None:
        self.name = name
        self.title = title
        self._story = story

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """As the reader of the file told them."""
        return self._story.gaps

    def records(self, *, worded: bool = True) -> Iterator[Record]:
        """Every message, and apart from it each tool call and result in it."""
        known = tuple((name, value) for name, value in self._story.ids.items())
        for said in self._story.said:
            yield from _of_message(self.name, said, known)

    def worded(self, record: Record) -> Record:
        """The record: it has its words."""
        return record

    def events(self) -> Iterator[Event] | None:
        """A conversation has no events of a tape."""
        return None

    def story(self) -> Story | None:
        """The conversation."""
        return self._story

    def evidence(self, ref: str) -> str:
        """What was said at a place. Raises NotOnTape."""
        found = [said for said in self._story.said if said.ref == ref]
        if not found:
            raise NotOnTape(f"there is no {ref} in {self.title}", hint="it may be another file")
        return "\n".join(f"{said.message.role}: {_words(said)}" for said in found)


def _of_message(source: str, said: Said, known: tuple[tuple[str, str], ...]) -> Iterator[Record]:
    role = said.message.role
    calls: list[tuple[str, str]] = []
    for part in said.message.parts:
        if isinstance(part, ToolCall):
            calls.append(("call.asked", part.call_id))
        elif isinstance(part, ToolCallResponse):
            calls.append(("call.told", part.call_id))
    kinds = calls or [(f"said.{role}", "")]
    for kind, call_id in kinds:
        ids = (*known, ("call", call_id)) if call_id else known
        component = "model" if role == "assistant" else "agent"
        words = " ".join(_words(said).split())[:200]
        yield Record(source, said.ref, said.order, kind, component, words, said.at, ids)


def _words(said: Said) -> str:
    parts = []
    for part in said.message.parts:
        match part:
            case ToolCall(name=name, arguments=arguments):
                parts.append(f"{name}({arguments})")
            case ToolCallResponse(response=response):
                parts.append(response)
            case _:
                parts.append(getattr(part, "content", ""))
    return said.error or "\n".join(filter(None, parts))
