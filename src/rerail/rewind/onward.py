"""What a rewind decides: live from one step on, a hint in each request, a budget of turns. Pure.

Up to the step everything comes from the tape. From there only model calls go on live, and what the
person allowed by name; all else is answered from the tape or refused, because a run gone astray
must not write to the world a second time.
"""

import re
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from rerail.compare.canon import Request
from rerail.errors import UsageProblem
from rerail.llm.calls import ModelCall
from rerail.llm.hint import NoPlaceForHint, Place, place_in, with_hint
from rerail.llm.meaning import prompt_of
from rerail.llm.view import Prompt
from rerail.playback.onward import CannotGoOn, Edited
from rerail.rewind.request import NotReadable, with_body

_PATTERN: Final = re.compile(r"([A-Z*]+) ([^/\s]+)(/\S*)?")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Requests that may reach their origin: `POST tickets.example.com/replies`, `*` for anything.

    A path allows what stands below it too; without one, the whole host is allowed.
    """

    method: str
    host: str
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> "Allowed":
        """Read `METHOD HOST[/PATH]`. Raises UsageProblem."""
        found = _PATTERN.fullmatch(text.strip())
        if found is None:
            raise UsageProblem(
                f"`{text}` names no requests", hint="write --allow 'POST api.example.com/v1/items'"
            )
        return cls(found[1], found[2].lower(), found[3] or "")

    def covers(self, request: Request) -> bool:
        """Whether this request is meant."""
        path = self.path.rstrip("/")
        below = not path or request.path == path or request.path.startswith(f"{path}/")
        host = request.host.lower() in (self.host, f"[{self.host}]")
        return self.method in ("*", request.method) and host and below


@dataclass(slots=True)
class Hinting:
    """A hint on its way through the run: where it stands in the conversation it was given to."""

    hint: str
    place: Place | None = None
    lane: tuple[str, tuple[str, ...]] | None = None

    def put(self, api: str, body: bytes) -> bytes:
        """The body with the hint, where it is a request of the conversation that has it.

        Raises:
            NoPlaceForHint: The first request has none.
        """
        prompt = prompt_of(api, body)
        if prompt is None:
            raise NoPlaceForHint("the request cannot be read as its API says")
        if self.place is None:
            self.place, self.lane = place_in(api, body), _lane(prompt)
        elif self.place.api != api or self.lane != _lane(prompt) or prompt.continues:
            # Another conversation, such as a title's; or the provider has kept the hint itself.
            return body
        changed, self.place = with_hint(body, self.hint, self.place)
        return changed


@dataclass(slots=True)
class Onward:
    """The decisions of one rewind, as `rerail.playback.onward.Onward` asks for them.

    `step` is the first model call that is asked anew. `turns` bounds the model calls from there on;
    None does not. `taken` counts them.
    """

    step: int
    hinting: Hinting | None = None
    turns: int | None = None
    allowed: tuple[Allowed, ...] = ()
    taken: set[int] = field(default_factory=set)

    @property
    def begun(self) -> bool:
        return bool(self.taken)

    def leaves(self, step: int) -> bool:
        return step >= self.step or self.begun

    def take_turn(self, turn: int, call: ModelCall, request: Request) -> None:
        if request.method == "GET":
            raise CannotGoOn("a WebSocket session cannot go on live", code="websocket")
        if turn not in self.taken and self.turns is not None and len(self.taken) >= self.turns:
            count = "turn is" if self.turns == 1 else "turns are"
            raise CannotGoOn(
                f"the {self.turns} {count} used up that this rewound run was given",
                code="turns_used_up",
            )
        self.taken.add(turn)

    def allows(self, request: Request) -> bool:
        return self.begun and any(allowed.covers(request) for allowed in self.allowed)

    def edit(self, call: ModelCall, raw: bytes) -> Edited | None:
        if self.hinting is None:
            return None
        try:
            sent, body = with_body(raw, partial(self.hinting.put, call.api))
        except (NoPlaceForHint, NotReadable) as error:
            raise CannotGoOn(f"the hint has no place: {error}", code="no_place_for_hint") from error
        return Edited(sent, body, "a hint was put in")


def _lane(prompt: Prompt) -> tuple[str, tuple[str, ...]]:
    """What tells one conversation of an agent from another: the model it asks, and its tools."""
    return prompt.model, prompt.tools
