"""The proxy: listening sockets, and a `Front` for each connection that comes in."""

import asyncio
import errno
import gc
import resource
import socket
from collections.abc import Container
from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

from rerail.errors import UsageProblem
from rerail.proxy.certs import Authority
from rerail.proxy.channel import Channel
from rerail.proxy.handler import Listening, Service

LOAD_SECONDS: Final = 0.005
TOO_MANY: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def _load() -> None:
    import rerail.proxy.front  # noqa: F401 - loaded for those who use it


def loopback_listener(port: int = 0) -> socket.socket:
    """A socket listening on 127.0.0.1; `port` 0 takes a free one. Raises OSError."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(512)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def listener_at(port: int, *, hint: str) -> socket.socket:
    """The same at a port that was asked for. Raises `UsageProblem` where it is taken."""
    try:
        return loopback_listener(port)
    except OSError as error:
        raise UsageProblem(
            f"cannot listen on 127.0.0.1:{port}: {error.strerror}", hint=hint
        ) from error


def free_port(*, besides: Container[int] = ()) -> int:
    """A port number that nobody listens on here just now, none of `besides`."""
    while True:
        with loopback_listener() as listener:
            port: int = listener.getsockname()[1]
        if port not in besides:
            return port


def allow_more_files() -> None:
    """Let this process open as many files as it may: each connection takes two.

    For after the command was started, whose own limit is not ours to change.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def collect_seldom() -> None:
    """Look for forgotten cycles of objects less often: what passes through leaves next to none.

    What waits for the disk would else be looked through again and again, a tenth of our time.
    """
    gc.set_threshold(5_000, 20, 20)


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
