"""Where a replay leaves its tape and goes on live: what a rewind decides for a player."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from rerail.compare.canon import Request
from rerail.llm.calls import ModelCall
from rerail.playback.conversation import NO_STATUS, Say, Spoken
from rerail.playback.scratch import Copy
from rerail.tape.records import Side


class Edited(Struct, frozen=True):
    """A request as the origin is sent it: head and body in `raw`, the body alone, and why.

    Of a message `raw` is the body.
    """

    raw: bytes
    body: bytes
    why: str


class CannotGoOn(Exception):
    """This request may not go on live; the message says why, `code` in one word."""

    def __init__(self, text: str, *, code: str) -> None:
        super().__init__(text)
        self.code = code


Hear = Callable[[Say], None]
"""Is told what an origin says in a live conversation."""


class Line(Protocol):
    """The agent's end of a live conversation."""

    def send(self, kind: Spoken, payload: bytes, *, code: int = NO_STATUS) -> None:
        """Say something to the origin, once it listens."""


class Onward(Protocol):
    """Decides, request by request, whether a replay goes on live."""

    @property
    def begun(self) -> bool:
        """Whether it has: then no model call is answered from the tape any more."""

    def arrived(self, folders: Sequence[Copy]) -> bool:
        """The first request is about to go on live, from these copies; whether it changed them.

        Raises:
            CannotGoOn: They are not, and cannot be made, what they were.
        """

    def leaves(self, step: int) -> bool:
        """Whether a recorded model call of this step is asked anew."""

    def take_turn(self, turn: int, call: ModelCall, request: Request) -> None:
        """A model call is about to go on live; calls of one turn are attempts at it.

        Raises:
            CannotGoOn: It may not.
        """

    def edit_message(
        self, call: ModelCall, message: bytes, before: Iterable[tuple[Side, bytes]]
    ) -> Edited | None:
        """The same as `edit` for a message that makes the model generate, the first that goes on.

        `before` are the messages of its conversation up to it, of which the origin knows nothing.
        """

    def edit_further(self, call: ModelCall, message: bytes) -> Edited | None:
        """The same for one that the origin has heard the live conversation before."""

    def allows(self, request: Request) -> bool:
        """Whether a request that is no model call, and not on the tape, may reach its origin."""

    def edit(self, call: ModelCall, raw: bytes) -> Edited | None:
        """What the origin is sent in place of a model call; None for just what the agent sent.

        Raises:
            CannotGoOn: The request has no place for what should be in it.
        """
