"""A proxy in a thread of its own, with a tap that writes down what it is told."""

import asyncio
import contextlib
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rerail.proxy.certs import Authority
from rerail.proxy.handler import Listening, Route, Session, Wire
from rerail.proxy.listeners import loopback_listener
from rerail.proxy.reach import UpstreamSettings
from rerail.proxy.relay import Relay
from rerail.proxy.server import ProxyServer
from rerail.proxy.upstream import Dialer
from rerail.tape.records import BodyEnd, Framing, Side
from rerail.wire.http1 import Head


@dataclass
class Noted:
    """One exchange as the tap heard it."""

    route: Route
    request: bytes
    request_body: bytes = b""
    request_over: bool = False
    request_ended: str = ""
    heads: list[bytes] = field(default_factory=list)
    interim: list[bytes] = field(default_factory=list)
    chunks: list[bytes] = field(default_factory=list)
    trailers: bytes = b""
    framing: str = ""
    ended: str = ""
    reason: str = ""
    after: dict[str, bytes] = field(default_factory=lambda: {"agent": b"", "origin": b""})

    def request_data(self, payload: bytes, continues: bool) -> None:
        self.request_body += payload

    def request_end(self, framing: Framing, chunk_lines: bytes, trailers: bytes) -> None:
        self.request_over = True

    def request_cut(self, ended: BodyEnd) -> None:
        self.request_ended = ended

    def reply_head(self, head: Head, interim: bool) -> None:
        (self.interim if interim else self.heads).append(head.raw)

    def reply_data(self, payload: bytes, continues: bool) -> None:
        if continues:
            self.chunks[-1] += payload
        else:
            self.chunks.append(payload)

    def reply_end(
        self, framing: Framing, chunk_lines: bytes, trailers: bytes, ended: BodyEnd
    ) -> None:
        self.framing, self.trailers, self.ended = framing, trailers, ended

    def switched(self, head: Head) -> None:
        self.heads.append(head.raw)

    def switched_data(self, sender: Side, data: bytes) -> None:
        self.after[sender] += data

    def failed(self, ended: BodyEnd, reason: str, chunk_lines: bytes = b"") -> None:
        self.ended, self.reason = ended, reason


@dataclass
class NotedTunnel:
    """One opaque connection as the tap heard it."""

    why: str
    agent: bytes = b""
    origin: bytes = b""
    ended: str = ""

    def data(self, sender: Side, data: bytes) -> None:
        setattr(self, sender, getattr(self, sender) + data)

    def closed(self, ended: BodyEnd) -> None:
        self.ended = ended


class Notes:
    """A tap, and the service that relays with it."""

    def __init__(self, settings: UpstreamSettings) -> None:
        self.refusal: str | None = None
        self.congested = False
        self.holds = False
        self.then: Callable[[], None] = bool
        self.exchanges: list[Noted] = []
        self.tunnels: list[NotedTunnel] = []
        self.failures: list[tuple[str, str, str]] = []
        self.gaps: list[str] = []
        self._dialer = Dialer(settings)

    def may_answer(self, connection_id: int, then: Callable[[], None]) -> bool:
        self.then = then
        return not self.holds

    def answer_anyway(self, connection_id: int) -> None:
        self.holds = False
        self.gaps.append("it had waited long enough")

    def exchange(self, route: Route, head: Head, framing: Framing) -> Noted:
        self.exchanges.append(Noted(route, head.raw))
        return self.exchanges[-1]

    def tunnel(self, route: Route, why: str) -> NotedTunnel:
        self.tunnels.append(NotedTunnel(why))
        return self.tunnels[-1]

    def connection_failed(
        self, route: Route, phase: str, reason: str, error: str, shown: str = ""
    ) -> None:
        self.failures.append((phase, reason, shown))

    def missing(self, what: str, detail: str, process_id: int) -> None:
        self.gaps.append(f"{what}: {detail}")

    def passed_by(self, program: str, pid: int, host: str, port: int, process_id: int) -> None:
        self.gaps.append(f"{program} ({pid}) of p{process_id} to {host}:{port}")

    def session(self, route: Route, wire: Wire) -> Session:
        return Relay(route, wire, self, self._dialer)


@dataclass
class Proxied:
    """A running proxy: its address, its CA's certificate, and what its tap heard."""

    port: int
    notes: Notes
    certificate: bytes

    def exchanges(self) -> list[Noted]:
        """What was heard, once every exchange is over: bytes go on first, the tap is told after."""
        deadline = time.monotonic() + 30
        while not all(noted.ended for noted in self.notes.exchanges):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        return self.notes.exchanges

    read_head = staticmethod(lambda agent: read_head(agent))
    read_all = staticmethod(lambda agent: read_all(agent))

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def tunnel(self, host: str, port: int) -> socket.socket:
        """A connection after its CONNECT was accepted."""
        agent = self.connect()
        agent.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert read_head(agent).startswith(b"HTTP/1.1 200 ")
        return agent

    def secure(self, agent: socket.socket, name: str, *protocols: str) -> ssl.SSLSocket:
        """TLS over a tunnel, as a client that trusts the proxy's CA alone."""
        context = ssl.create_default_context(cadata=self.certificate.decode())
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context.wrap_socket(agent, server_hostname=name)


def read_head(agent: socket.socket) -> bytes:
    """Read to the end of a head and not a byte further."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = agent.recv(1)
        if not byte:
            break
        head += byte
    return head


def read_all(agent: socket.socket) -> bytes:
    """Everything up to the end of the stream."""
    data = b""
    with contextlib.suppress(ssl.SSLEOFError):
        while piece := agent.recv(65536):
            data += piece
    return data


@contextlib.contextmanager
def running(
    settings: UpstreamSettings, folder: Path, listening: Listening | None = None
) -> Iterator[Proxied]:
    """A proxy in its own thread until the block ends."""
    authority = Authority.open_or_create(folder / "ca")
    notes = Notes(settings)
    listener = loopback_listener()
    stop_reading, stop_writing = os.pipe()
    ready = threading.Event()

    async def serve() -> None:
        server = ProxyServer(notes, authority)
        await server.listen(listener, listening or Listening())
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_reader(stop_reading, stopped.set)
        ready.set()
        await stopped.wait()
        await server.close()

    port = listener.getsockname()[1]
    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="proxy")
    thread.start()
    assert ready.wait(10)
    try:
        yield Proxied(port, notes, authority.certificate_pem)
    finally:
        os.write(stop_writing, b"x")
        thread.join(10)
        os.close(stop_reading)
        os.close(stop_writing)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def proxy_ca_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the proxies' CA is made; one for all, as a user has one."""
    return tmp_path_factory.mktemp("proxy")


@pytest.fixture
def proxied(proxy_ca_folder: Path) -> Iterator[Callable[..., Proxied]]:
    """`proxied(settings, listening)` gives a running proxy that is closed after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda settings, listening=None: stack.enter_context(
            running(settings, proxy_ca_folder, listening)
        )
