"""A tool call joined to what answered it. Knows no message but by its index."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from rerail.llm.view import ToolCall, ToolCallResponse
from rerail.trace.detect.tools import words_of
from rerail.trace.detect.values import canonical, key_of, leaves
from rerail.trace.detect.words import names_a_thing, thing_in
from rerail.wire.any_json import loaded

_FILES: Final = frozenset(("file_path", "path", "filename", "file", "command", "patch"))
_OF_FILES: Final = frozenset(("patch", "notebook"))


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

    @property
    def puts_a_file(self) -> bool:
        """Whether it writes into the agent's own files, as far as its name and fields tell."""
        arguments = self.call.arguments
        named = isinstance(arguments, dict) and not _FILES.isdisjoint(arguments)
        return named or not _OF_FILES.isdisjoint(words_of(self.name))

    @cached_property
    def document(self) -> Any:
        """What the tool answered, where that is JSON."""
        return loaded(self.told)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The numbers in its arguments."""
        return frozenset(
            round(float(value), 2)
            for _, value in leaves(self.call.arguments)
            if isinstance(value, int | float) and not isinstance(value, bool)
        )

    @cached_property
    def own(self) -> str:
        """The thing that it is about: one whose field the tool's name speaks of, else the first."""
        named = {word.rstrip("s") for word in words_of(self.name)}
        alone = {key_of(path) for path, _ in leaves(self.call.arguments) if "[" not in path}
        about = (
            thing
            for thing, key in self.things.items()
            if key in alone and not named.isdisjoint(words_of(key))
        )
        return next(about, next(iter(self.things), ""))

    @cached_property
    def things(self) -> dict[str, str]:
        """The identifiers in its arguments, each with the name of its field."""
        found: dict[str, str] = {}
        for path, value in leaves(self.call.arguments):
            key = key_of(path)
            thing = thing_in(key, value)
            if thing and (isinstance(value, str) or names_a_thing(key)):
                found.setdefault(thing, key)
        return found
