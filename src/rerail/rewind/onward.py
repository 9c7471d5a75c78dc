"""What a rewind decides: live from one step on, requests edited, a budget of turns. Pure.

Up to the step everything comes from the tape. From there only model calls go on live, and what the
person allowed by name; all else is answered from the tape or refused, because a run gone astray
must not write to the world a second time.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rerail.compare.canon import Request
from rerail.errors import UsageProblem
from rerail.llm.calls import ModelCall, tells_turns
from rerail.llm.session import HistoryMissing, Said, is_stored, whole_request
from rerail.playback.onward import CannotGoOn, Edited
from rerail.playback.scratch import Copy
from rerail.rewind.edits import Edits, NotEditable
from rerail.rewind.files import PutInPlace
from rerail.rewind.request import NotReadable, with_body
from rerail.tape.records import Side

_WHOLE: Final = "its history was put in"
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
class Onward:
    """The decisions of one rewind, as `rerail.playback.onward.Onward` asks for them.

    `step` is the first model call that is asked anew. `turns` bounds the model calls from there on;
    None does not. `taken` counts them. `files` are those to be put in place there.
    `expired`: no provider still has what it kept then; `history` gives what was said over HTTP.
    `used` is told of the budget: so many, of how many, and whether another was refused.
    """

    step: int
    edits: Edits = field(default_factory=Edits)
    turns: int | None = None
    allowed: tuple[Allowed, ...] = ()
    files: PutInPlace | None = None
    has_arrived: bool = False
    expired: bool = False
    history: Callable[[], Iterable[Said]] = tuple
    used: Callable[[int, int, bool], None] = lambda used, limit, spent: None
    taken: set[int] = field(default_factory=set)

    @property
    def begun(self) -> bool:
        return bool(self.taken)

    def arrived(self, folders: Sequence[Copy]) -> bool:
        if self.files is None or self.has_arrived:
            return False
        self.has_arrived = True
        return self.files.put(folders)

    def leaves(self, step: int) -> bool:
        return step >= self.step or self.begun

    def take_turn(self, turn: int, call: ModelCall, request: Request) -> None:
        if request.method == "GET" and not request.body:
            why = "this WebSocket is not on the tape"
            if not tells_turns(call.api):
                why = f"a session of {call.api} cannot go on live"
            raise CannotGoOn(why, code="websocket")
        if turn in self.taken:
            return
        if self.turns is not None and len(self.taken) >= self.turns:
            self.used(len(self.taken), self.turns, True)
            count = "turn is" if self.turns == 1 else "turns are"
            raise CannotGoOn(
                f"the {self.turns} {count} used up that this rewound run was given",
                code="turns_used_up",
            )
        self.taken.add(turn)
        if self.turns is not None:
            self.used(len(self.taken), self.turns, False)

    def edit_message(
        self, call: ModelCall, message: bytes, before: Iterable[tuple[Side, bytes]]
    ) -> Edited | None:
        try:
            whole = whole_request(message, before)
        except HistoryMissing as error:
            raise CannotGoOn(str(error), code="history_not_on_tape") from error
        edited = self.edit_further(call, whole)
        if edited is not None:
            return Edited(edited.raw, edited.body, f"{_WHOLE}, {edited.why}")
        return Edited(whole, whole, _WHOLE) if whole != message else None

    def edit_further(self, call: ModelCall, message: bytes) -> Edited | None:
        try:
            body, why = self.edits.change(call.api, message, self.step)
        except NotEditable as error:
            raise CannotGoOn(str(error), code="cannot_be_edited") from error
        return Edited(body, body, why) if why else None

    def allows(self, request: Request) -> bool:
        return self.begun and any(allowed.covers(request) for allowed in self.allowed)

    def edit(self, call: ModelCall, raw: bytes) -> Edited | None:
        if not self.edits.all and not self._may_continue(call):
            return None
        whys: list[str] = []

        def change(body: bytes) -> bytes:
            whole = self._with_history(call, body)
            changed, why = self.edits.change(call.api, whole, self.step)
            whys.extend(filter(None, (_WHOLE if whole != body else "", why)))
            return changed

        try:
            sent, body = with_body(raw, change)
        except NotReadable as error:
            if not self.edits.all:
                return None  # It goes on as it is: there is nothing to put in.
            raise CannotGoOn(str(error), code="cannot_be_edited") from error
        except NotEditable as error:
            raise CannotGoOn(str(error), code="cannot_be_edited") from error
        return Edited(sent, body, ", ".join(whys)) if whys else None

    def _may_continue(self, call: ModelCall) -> bool:
        """Whether a request may name a response of the recorded run: the first live one may."""
        return call.api == "openai.responses" and len(self.taken) == 1

    def _with_history(self, call: ModelCall, body: bytes) -> bytes:
        """The request whole where the provider does not have what it continues, or not any more."""
        if not self._may_continue(call) or (is_stored(body) and not self.expired):
            return body
        try:
            return whole_request(body, self.history())
        except HistoryMissing as error:
            raise CannotGoOn(str(error), code="history_not_on_tape") from error
