"""The event loop's half of a recording: connections are served until the command has ended.

Loaded when the command runs already. Knows no command line and no tape, only the recorder.
"""

import asyncio
import socket
from collections.abc import Sequence
from typing import Final

from rerail.capture.recorder import Recorder
from rerail.launch.child import Child, Ending
from rerail.launch.waiting import end_of
from rerail.proxy.certs import Authority
from rerail.proxy.handler import Listening, Route, Session, Wire
from rerail.proxy.listeners import allow_more_files
from rerail.proxy.reach import UpstreamSettings
from rerail.proxy.server import LOAD_SECONDS, ProxyServer
from rerail.proxy.upstream import Dialer

DRAIN_SECONDS: Final = 2.0


def serve(
    child: Child,
    listeners: Sequence[tuple[socket.socket, Listening]],
    *,
    recorder: Recorder,
    authority: Authority,
    upstream: UpstreamSettings,
) -> Ending:
    """Serve what comes to the listeners, and say how the command ended."""
    return asyncio.run(_Serving(recorder, Dialer(upstream)).run(child, listeners, authority))


class _Serving:
    """What the proxy serves from: the origins, overheard."""

    def __init__(self, recorder: Recorder, dialer: Dialer) -> None:
        self._recorder = recorder
        self._dialer = dialer

    async def run(
        self,
        child: Child,
        listeners: Sequence[tuple[socket.socket, Listening]],
        authority: Authority,
    ) -> Ending:
        allow_more_files()
        server = ProxyServer(self, authority)
        for listener, listening in listeners:
            await server.listen(listener, listening)
        asyncio.get_running_loop().call_later(LOAD_SECONDS, _load)
        ending = await end_of(child)
        await self._drain()
        await server.close()
        return ending

    async def _drain(self) -> None:
        """Descendants of the command may still be talking: let what is open end, within a bound."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DRAIN_SECONDS
        while self._recorder.open and loop.time() < deadline:
            await asyncio.sleep(0.01)

    # What the proxy asks for.

    def session(self, route: Route, wire: Wire) -> Session:
        from rerail.proxy.relay import Relay

        return Relay(route, wire, self._recorder, self._dialer)

    def missing(self, what: str, detail: str, process_id: int) -> None:
        self._recorder.missing(what, detail, process_id)


def _load() -> None:
    import rerail.proxy.relay  # noqa: F401 - loaded while the command starts
