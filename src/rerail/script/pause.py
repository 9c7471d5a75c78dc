"""One pause of a script, as a run or a tape tells of it. Knows no engine and no storage."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rerail.script.values import decoded
from rerail.tape.records import Body


@dataclass(frozen=True, slots=True)
class Answer:
    """What a pause was answered with: a value, or the kind of an error that was raised instead."""

    raised: str
    _read: Callable[[], bytes] = field(repr=False, compare=False)

    @property
    def value(self) -> Any:
        """The value; of an error its message."""
        return decoded(self._read())


@dataclass(slots=True)
class Pause:
    """A call of a tool at which the whole script was saved.

    `number` counts from 1, and on in a fork; `token` is how the pause is answered. `line` is the
    script's. `state` is the saved state, by digest. `attempts` counts how often the tool was called
    for it, as far as is known: at least that often it was about to be.
    """

    number: int
    token: str
    tool: str
    line: int
    at: int
    wall: int
    call: int
    state: Body
    arguments_digest: bytes
    _read: Callable[[], bytes] = field(repr=False)
    attempts: int = 0
    answer: Answer | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """What the tool was asked."""
        value = decoded(self._read())
        assert isinstance(value, dict)
        return value

    @property
    def waiting(self) -> bool:
        """Whether it has no answer."""
        return self.answer is None

    @property
    def may_have_run(self) -> bool:
        """Whether the tool may have run, and nobody knows with what result."""
        return self.answer is None and self.attempts > 0
