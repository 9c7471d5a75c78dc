"""The way out of a replay that may go on live: one request at a time, to its own origin.

Imported only where a policy of `live` asks for it, so that no other replay can reach an origin.
"""

import asyncio
from collections.abc import Callable

from rerail.playback.live_session import LiveSession
from rerail.playback.onward import Hear, Line
from rerail.proxy.answers import refusal
from rerail.proxy.handler import OriginUnreachable, Phase, Route, Tap, Wire
from rerail.proxy.reach import UpstreamSettings
from rerail.proxy.relay import Relay
from rerail.proxy.upstream import Dialer
from rerail.tape.records import BodyEnd, Framing, Side
from rerail.wire.http1 import Head


class LiveOrigins:
    """Passes requests on to their origins, each over a connection of its own."""

    def __init__(self, settings: UpstreamSettings) -> None:
        self._dialer = Dialer(settings)
        self._tasks: set[asyncio.Task[None]] = set()

    def call(self, route: Route, raw: bytes, wire: Wire, done: Callable[[], None]) -> None:
        """Pass a whole request on; its reply goes to `wire`, and `done` is called at its end."""
        task = asyncio.get_running_loop().create_task(self._call(route, raw, wire, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def converse(self, route: Route, upgrade: bytes, hear: Hear) -> Line:
        """Open a WebSocket as the agent had; what the origin says there is told to `hear`."""
        session = LiveSession(hear)
        task = asyncio.get_running_loop().create_task(self._converse(route, upgrade, session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return session

    async def _converse(self, route: Route, upgrade: bytes, session: LiveSession) -> None:
        relay = Relay(route, session, _Watch(lambda: None), self._dialer)
        try:
            await _reach(relay, route)
        except OriginUnreachable as unreachable:
            session.fail(unreachable.reason)
            return
        session.begin(upgrade, relay.received)

    async def _call(self, route: Route, raw: bytes, wire: Wire, done: Callable[[], None]) -> None:
        relay = Relay(route, wire, _Watch(done), self._dialer)
        try:
            await _reach(relay, route)
        except OriginUnreachable as unreachable:
            wire.write(refusal(b"502 Bad Gateway", unreachable.reason))
            wire.close()
            return
        relay.received(raw)


async def _reach(relay: Relay, route: Route) -> None:
    """Raises OriginUnreachable."""
    await relay.connect()
    if route.scheme == "https":
        flaw = await relay.secure(None, alpn=True)
        if flaw is not None:
            raise OriginUnreachable(f"the certificate of {route.host}: {flaw.text}")


class _Watch(Tap):
    """Hears only that a reply is over. What passed is overheard on the agent's side."""

    def __init__(self, done: Callable[[], None]) -> None:
        self._done = done

    @property
    def refusal(self) -> str | None:
        return None

    @property
    def congested(self) -> bool:
        return False

    def may_answer(self, connection_id: int, then: Callable[[], None]) -> bool:
        return True

    def answer_anyway(self, connection_id: int) -> None:
        pass

    def exchange(self, route: Route, head: Head, framing: Framing) -> "_Watch":
        return self

    def tunnel(self, route: Route, why: str) -> "_Watch":
        return self

    def connection_failed(
        self, route: Route, phase: Phase, reason: str, error: str, shown: str = ""
    ) -> None:
        pass

    def missing(self, what: str, detail: str, process_id: int) -> None:
        pass

    def request_data(self, payload: bytes, continues: bool) -> None:
        pass

    def request_end(self, framing: Framing, chunk_lines: bytes, trailers: bytes) -> None:
        pass

    def restored(self) -> None:
        pass

    def edited(self, body: bytes, why: str) -> None:
        pass

    def request_cut(self, ended: BodyEnd) -> None:
        pass

    def reply_head(self, head: Head, interim: bool) -> None:
        pass

    def reply_data(self, payload: bytes, continues: bool) -> None:
        pass

    def reply_end(
        self, framing: Framing, chunk_lines: bytes, trailers: bytes, ended: BodyEnd
    ) -> None:
        self._done()

    def switched(self, head: Head) -> None:
        pass

    def switched_data(self, sender: Side, data: bytes) -> None:
        pass

    def failed(self, ended: BodyEnd, reason: str, chunk_lines: bytes = b"") -> None:
        self._done()

    def data(self, sender: Side, data: bytes) -> None:
        pass

    def closed(self, ended: BodyEnd) -> None:
        self._done()
