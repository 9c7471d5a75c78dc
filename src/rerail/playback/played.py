"""One connection of the agent in a replay: its requests are put together and asked about.

What it is told is the matter of `replies`.
"""

from typing import TYPE_CHECKING

from rerail.playback.answers import Served
from rerail.playback.arriving import Arriving
from rerail.playback.replies import Replies
from rerail.proxy.certs import OriginFlaw, recorded_flaw
from rerail.proxy.handler import OriginUnreachable, Route, Wire
from rerail.proxy.held import HeldWire
from rerail.proxy.overhear import Overhearing
from rerail.wire.http1 import (
    Data,
    End,
    HeadSeen,
    Opaque,
    RequestScanner,
    WireEvent,
)

if TYPE_CHECKING:
    from rerail.playback.stage import Stage


class PlayedSession:
    """One connection of the agent, answered from the tape."""

    def __init__(self, stage: "Stage", route: Route, wire: Wire) -> None:
        self._stage = stage
        self._route = route
        self._heard = Overhearing(route, stage.tap) if stage.tap else None
        self._wire: Wire = wire
        if stage.tap is not None and self._heard is not None:
            self._wire = _Heard(HeldWire(wire, stage.tap, route.connection_id), self._heard)
        self._scanner = RequestScanner(keep_raw=stage.live is not None)
        self._arriving: Arriving | None = None
        self._flaw: OriginFlaw | None = None
        self._no_tls: OriginUnreachable | None = None
        self._replies = Replies(stage, route, self._wire, self._heard, self._scanner.take_held)

    # Setting up.

    async def connect(self) -> None:
        failure = self._stage.player.connecting(self._route.host, self._route.port)
        if failure is None:
            return
        tap = self._stage.tap
        if tap is not None:
            tap.connection_failed(
                self._route, failure.phase, failure.reason, failure.error, failure.shown
            )
        if failure.phase != "tls":
            raise OriginUnreachable(failure.reason)
        if failure.shown in ("expired", "not_yet_valid", "name", "issuer"):
            self._flaw = recorded_flaw(failure.shown, failure.reason)  # type: ignore[arg-type]
        else:
            self._no_tls = OriginUnreachable(failure.reason, error=failure.error)

    async def secure(self, server_name: str | None, *, alpn: bool) -> OriginFlaw | None:
        self._route = Route(
            self._route.connection_id,
            "https",
            self._route.host,
            self._route.port,
            self._route.process_id,
        )
        self._replies.route = self._route
        if self._heard is not None:
            self._heard.secured()
        if self._no_tls is not None:
            raise self._no_tls
        return self._flaw

    # What the agent does.

    def received(self, data: bytes) -> None:
        if self._replies.over:
            return  # What was refused as a whole may have begun with bytes that were not read yet.
        if self._heard is not None:
            self._heard.agent(data)
        if self._replies.dialogue is not None:
            self._replies.dialogue.received(data)
            return
        for event in self._scanner.feed(data):
            self._asked(event)

    def asked(self, events: list[WireEvent], data: bytes) -> None:
        if self._heard is not None:
            self._heard.asked(events)
        for event in events:
            self._asked(event)

    def opaque(self, data: bytes, why: str) -> None:
        """Opaque bytes are on the tape to be looked at; nobody can say what would answer them."""
        place = f"{self._route.host}:{self._route.port}"
        self._stage.player.refuse_connection(place, why)
        self._replies.finish("cut", "an opaque connection cannot be replayed")
        self._wire.close()

    def ended(self) -> None:
        """The agent half-closed, or closed: what is still to be said is said, if it listens."""
        if self._replies.dialogue is not None or self._replies.idle:
            self.lost(None)

    def lost(self, error: Exception | None) -> None:
        if self._replies.over:
            return
        if self._replies.dialogue is not None:
            self._replies.dialogue.agent_left()
        self._replies.finish("agent_closed", "the agent closed the connection")
        self._wire.close()

    def writable(self, ready: bool) -> None:
        self._replies.writable(ready)

    def released(self) -> None:
        self._replies.over = True

    @property
    def idle(self) -> bool:
        return self._replies.idle and self._arriving is None

    @property
    def raw(self) -> bool:
        return self._replies.dialogue is not None

    # A request is put together.

    def _asked(self, event: WireEvent) -> None:
        match event:
            case HeadSeen():
                self._asked_first(event)
            case Data() if self._arriving is not None:
                self._arriving.add(event)
            case End() if self._arriving is not None:
                arriving, self._arriving = self._arriving, None
                arriving.keep(event.raw)
                request = arriving.request()
                if self._stage.playhead is not None:
                    self._stage.playhead.asked(request)
                if not arriving.answered:
                    self._replies.add(arriving, self._stage.player.answer(request))
            case Opaque(raw=raw, why=why):
                self.opaque(raw, why)

    def _asked_first(self, event: HeadSeen) -> None:
        asked = self._stage.heads.read(event.head.raw, self._route)
        arriving = self._arriving = Arriving(asked, keep_raw=self._stage.live is not None)
        arriving.keep(event.raw)
        if event.framing != "none" and (asked.expects or self._stage.player.answers_early):
            self._before_body(arriving)

    def _before_body(self, arriving: Arriving) -> None:
        """RFC 9110 section 10.1.1: some replies come before the body, some ask for it."""
        said = self._stage.player.before_body(arriving.request())
        if isinstance(said, Served):
            arriving.answered = True
            self._replies.add(arriving, said)
        elif said is not None:
            arriving.interim_sent = 1
            self._wire.write(said.reply)


class _Heard:
    """The agent's wire, overheard: what is said to the agent is told as an origin's words."""

    def __init__(self, wire: HeldWire, heard: Overhearing) -> None:
        self._wire = wire
        self._heard = heard
        self.write_end = wire.write_end
        self.close = wire.close
        self.cut = wire.cut
        self.reset = wire.reset
        self.read_on = wire.read_on

    def write(self, data: bytes) -> None:
        self._wire.ask_leave()
        self._wire.write(data)
        self._heard.origin(data)
