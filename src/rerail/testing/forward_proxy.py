"""A forward proxy for tests, as a script of an origin: CONNECT, absolute targets, Basic auth.

It stands where a company's proxy stands, between rerail and the network, and must not know that
what comes to it was recorded.
"""

import base64
import contextlib
import socket
import threading
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from rerail.testing.connection import Connection, Request, ScriptStopped
from rerail.testing.origin import Behaviour
from rerail.testing.replies import head
from rerail.testing.tls import READ_SIZE

Address = tuple[str, int]
CONNECT_SECONDS: Final = 5.0


def forward_proxy(
    *, credentials: tuple[str, str] | None = None, resolve: Mapping[Address, Address] | None = None
) -> Behaviour:
    """A script that forwards what it is asked to.

    Args:
        credentials: User and password; without them in `Proxy-Authorization` the answer is 407.
        resolve: Where a host and port really are, for names that no resolver knows.
    """
    wanted = _basic(*credentials) if credentials else None
    table = resolve or {}

    def run(connection: Connection) -> None:
        while (request := connection.read_request()) is not None:
            if wanted is not None and request.header("proxy-authorization") != wanted:
                request.read()
                challenge = ("Proxy-Authenticate", 'Basic realm="test proxy"')
                connection.send(head(407, [challenge, ("Content-Length", "0")]))
                continue
            _forward(connection, request, table)
            return

    return run


def relay_to(address: Address) -> Behaviour:
    """A script that carries bytes to another server and back: on a TLS origin, its TLS end."""

    def run(connection: Connection) -> None:
        try:
            upstream = socket.create_connection(address, CONNECT_SECONDS)
        except OSError as error:
            raise ScriptStopped from error
        with upstream:
            upstream.settimeout(None)
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _relay(connection, upstream)

    return run


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _forward(connection: Connection, request: Request, table: Mapping[Address, Address]) -> None:
    asked = _asked(request)
    try:
        upstream = socket.create_connection(table.get(asked, asked), CONNECT_SECONDS)
    except OSError:
        connection.send(head(502, [("Content-Length", "0"), ("Connection", "close")]))
        return
    with upstream:
        upstream.settimeout(None)
        if request.method == "CONNECT":
            connection.send(head(200))
        else:
            upstream.sendall(_origin_form(request))
        _relay(connection, upstream)


def _asked(request: Request) -> Address:
    if request.method == "CONNECT":
        host, _, port = request.target.rpartition(":")
        return host.strip("[]"), int(port)
    parts = urlsplit(request.target)
    return parts.hostname or "", parts.port or 80


def _origin_form(request: Request) -> bytes:
    """The head as the origin wants it; one request a connection keeps the relay a plain pipe."""
    target = "/" + request.target.split("://", 1)[-1].partition("/")[2]
    hop = {"proxy-authorization", "proxy-connection", "connection"}
    fields = [(name, value) for name, value in request.headers if name.lower() not in hop]
    lines = [f"{request.method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in [*fields, ("Connection", "close")]]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _relay(connection: Connection, upstream: socket.socket) -> None:
    back = threading.Thread(target=_carry_back, args=(connection, upstream), daemon=True)
    back.start()
    try:
        while data := connection.receive():
            upstream.sendall(data)
        upstream.shutdown(socket.SHUT_WR)
    except (ScriptStopped, OSError):
        with contextlib.suppress(OSError):
            upstream.shutdown(socket.SHUT_RDWR)
    back.join()


def _carry_back(connection: Connection, upstream: socket.socket) -> None:
    with contextlib.suppress(ScriptStopped, OSError):
        while data := upstream.recv(READ_SIZE):
            connection.send(data)
    connection.end_sending()
