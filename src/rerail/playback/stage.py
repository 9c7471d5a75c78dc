"""What all connections of a replay have in common: one player, one order, one pace.

Stands where a recording has its relay. No origin is reached from here; a policy of `live` is given
the means from outside.
"""

from collections.abc import Callable
from typing import Protocol

from rerail.playback.heads import AskedHeads
from rerail.playback.hold import Hold
from rerail.playback.onward import Hear, Line
from rerail.playback.order import Order
from rerail.playback.pace import Pace
from rerail.playback.played import PlayedSession
from rerail.playback.player import Player
from rerail.playback.probes import Playhead
from rerail.playback.put_back import PutBack
from rerail.proxy.handler import Route, Session, Tap, Wire
from rerail.redact.apply import Redactor


class LiveCalls(Protocol):
    """The way out, where a replay is allowed one."""

    def call(self, route: Route, raw: bytes, wire: Wire, done: Callable[[], None]) -> None:
        """Pass a whole request on; its reply goes to `wire`, and `done` is called at its end."""

    def converse(self, route: Route, upgrade: bytes, hear: Hear) -> Line:
        """Open a WebSocket as the agent had; what the origin says there is told to `hear`."""


class Stage:
    """The service of a replay: a session for each connection, all asking one player."""

    def __init__(
        self,
        player: Player,
        pace: Pace,
        redactor: Redactor,
        *,
        tap: Tap | None = None,
        live: LiveCalls | None = None,
        hold: Hold | None = None,
        playhead: Playhead | None = None,
        put_back: PutBack | None = None,
        going_live: Callable[[], bool] | None = None,
    ) -> None:
        """`going_live` is called before each request goes on live: has it changed the folders?"""
        self.player = player
        self.put_back = put_back
        self.going_live = going_live
        self.playhead = playhead
        self.hold = hold
        self.heads = AskedHeads(redactor)
        self.order = Order(player.script, player.ledger)
        self.pace = pace
        self.tap = tap
        self.live = live

    def session(self, route: Route, wire: Wire) -> Session:
        return PlayedSession(self, route, wire)

    def missing(self, what: str, detail: str, process_id: int) -> None:
        self.player.ledger.notes[f"{what}: {detail}"] += 1
        if self.tap is not None:
            self.tap.missing(what, detail, process_id)

    def passed_by(self, program: str, pid: int, host: str, port: int, process_id: int) -> None:
        """Nothing passes by in a replay but what its sandbox allows, and tells of itself."""
