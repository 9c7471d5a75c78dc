"""Listening sockets, made before anybody serves them: they hold connections until then."""

import resource
import socket
from collections.abc import Container
from contextlib import suppress

from rerail.errors import UsageProblem


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
