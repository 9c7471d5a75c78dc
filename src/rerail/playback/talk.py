"""A conversation from where it goes on live: each message of the agent decided, then passed on.

The agent's frames are read elsewhere (`dialogue`), the origin's, too (`live_session`).
"""

import json
from collections.abc import Callable
from typing import Protocol

from rerail.playback.answers import Served
from rerail.playback.conversation import NO_STATUS, Say, Spoken
from rerail.playback.onward import CannotGoOn, Edited, Hear, Line
from rerail.playback.player import POLICY_VIOLATION, Player


class Goings(Protocol):
    """What a stage has to do as a conversation goes live."""

    def going_live(self) -> None:
        """The first message is about to. Raises CannotGoOn."""

    def edited(self, edited: Edited) -> None:
        """The origin is told something else than the agent said."""

    def line(self, hear: Hear) -> Line:
        """A new conversation with the origin."""


class Talk:
    """One conversation; `tell` says something to the agent."""

    def __init__(
        self, player: Player, served: Served, goings: Goings, tell: Callable[[Say], None]
    ) -> None:
        self._player = player
        self._served = served
        self._goings = goings
        self._tell = tell
        self._line: Line | None = None

    @property
    def begun(self) -> bool:
        """Whether the agent's messages go on live."""
        return self._line is not None

    def begin(self, payload: bytes, turn: int) -> None:
        """The message at which the tape is left; `turn` is the recorded one's event."""
        try:
            self._goings.going_live()
            edited = self._player.live_message(self._served, payload, turn)
        except CannotGoOn as reason:
            self._refuse(reason)
            return
        self._line = self._goings.line(self._tell)
        self._pass_on(payload, edited)

    def said(self, kind: Spoken, payload: bytes, *, code: int = NO_STATUS) -> None:
        """Whatever the agent says after that."""
        assert self._line is not None
        if kind != "text" or not self._player.is_turn(self._served, payload):
            self._line.send(kind, payload, code=code)
            return
        try:
            self._pass_on(payload, self._player.live_message(self._served, payload))
        except CannotGoOn as reason:
            self._refuse(reason)

    def _pass_on(self, payload: bytes, edited: Edited | None) -> None:
        assert self._line is not None
        if edited is not None:
            self._goings.edited(edited)
        self._line.send("text", edited.body if edited is not None else payload)

    def _refuse(self, reason: CannotGoOn) -> None:
        """In the form of an error event, which clients read, and then by closing."""
        self._player.ledger.notes[f"refused: {reason}"] += 1
        self._player.ledger.answered[self._served.request] = "refused"
        said = f"rerail refused this request: {reason}"
        kind, code = "invalid_request_error", f"rerail_{reason.code}"
        error = {"type": kind, "code": code, "message": said, "param": None}
        event = {"type": "error", "status": 400, "error": error}
        self._tell(Say("text", json.dumps(event, separators=(",", ":")).encode()))
        self._tell(Say("close", code=POLICY_VIOLATION, reason=said[:120]))
