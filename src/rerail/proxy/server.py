"""The proxy: a `Front` for each connection that comes to its listening sockets."""

import asyncio
import errno
import socket
from typing import Any, Final
from weakref import WeakSet

from rerail.proxy.certs import Authority
from rerail.proxy.channel import Channel
from rerail.proxy.handler import Listening, Service

LOAD_SECONDS: Final = 0.005
TOO_MANY: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def _load() -> None:
    import rerail.proxy.front  # noqa: F401 - loaded for those who use it


class ProxyServer:
    """Serves connections from any number of listeners until it is closed."""

    def __init__(self, service: Service, authority: Authority) -> None:
        self._service = service
        self._authority = authority
        self._servers: list[asyncio.Server] = []
        self._opening: set[asyncio.Task[None]] = set()
        self._channels: WeakSet[Channel] = WeakSet()
        self._count = 0
        self._scarce = False

    async def listen(self, listener: socket.socket, listening: Listening) -> None:
        """Begin to accept on a listening socket."""
        loop = asyncio.get_running_loop()
        # The listener holds connections until we accept: so the code that serves them is loaded
        # while the command starts, and not at all where it ends before it asks for anything.
        loop.call_later(LOAD_SECONDS, _load)
        loop.set_exception_handler(self._fault)
        server = await loop.create_server(lambda: self._accepted(listening), sock=listener)
        self._servers.append(server)

    def _fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Where no more files can be opened, connections wait, and that is said once."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in TOO_MANY:
            loop.default_exception_handler(context)
        elif not self._scarce:
            self._scarce = True
            self._service.missing("connections had to wait", str(error.strerror), 0)

    def _accepted(self, listening: Listening) -> Channel:
        from rerail.proxy.front import Front

        self._count += 1
        front = Front(self._count, listening, self._service, self._authority)
        self._opening.add(front.task)
        front.task.add_done_callback(lambda task: self._opened(task, front.channel))
        self._channels.add(front.channel)
        return front.channel

    def _opened(self, task: "asyncio.Task[None]", channel: Channel) -> None:
        self._opening.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._service.missing("a connection could not be served", repr(error), 0)
            channel.reset()

    async def close(self) -> None:
        """Stop accepting, and end every connection that is still open."""
        for server in self._servers:
            server.close()
        opening = list(self._opening)
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        for channel in list(self._channels):
            if channel.alive and channel.owner is not None:
                channel.owner.lost(None)
                channel.close()
