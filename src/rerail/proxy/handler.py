"""What stands behind the proxy: the words that sockets and recording or replaying sessions share.

The agent's side of a connection is the same in a recording and in a replay (`front`). What is
behind it differs: a `Service` opens one `Session` for each route, a recording's session relays to
the origin and tells a `Tap` what passed, a replay's session answers from the tape.
"""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from msgspec import Struct, field

from rerail.proxy.certs import OriginFlaw
from rerail.proxy.reverse import Origin
from rerail.tape.records import BodyEnd, Framing, Side
from rerail.wire.http1 import Head, WireEvent

Phase = Literal["resolve", "connect", "proxy", "tls"]
"""How far a connection to an origin came before it failed."""


class Route(Struct, frozen=True):
    """Where an agent's connection is meant to go, and which process opened it.

    In a `tunnel` (CONNECT) the scheme is not known before its first bytes.
    """

    connection_id: int
    scheme: str
    host: str
    port: int
    process_id: int = 0
    tunnel: bool = False

    @property
    def authority(self) -> str:
        """`host:port`, an IPv6 address in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Listening(Struct, frozen=True):
    """What a listening port is for.

    `token` must stand in the proxy user-info of everything that comes to a proxy port; its user
    name `p7` says that process 7 sent it. `reverse` is the origin that a reverse listener stands
    for; `others` are the ports of all such listeners, for what comes to them through a proxy port.
    """

    token: str = ""
    reverse: Origin | None = None
    others: Mapping[int, Origin] = field(default_factory=dict)


class OriginUnreachable(Exception):
    """No connection to the origin: what the agent should be told, in one line.

    `error` is the name of the exception that TLS with the origin ended in, if it was that.
    """

    def __init__(self, reason: str, *, error: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error


class Wire(Protocol):
    """The agent's end of a connection, as a session sees it."""

    def write(self, data: bytes) -> None:
        """Send bytes to the agent."""

    def write_end(self) -> None:
        """Say that no more will come."""

    def close(self) -> None:
        """Send what is queued, then close."""

    def cut(self) -> None:
        """Send what is queued, then close without TLS's close_notify."""

    def reset(self) -> None:
        """Drop the connection so that the agent sees a reset."""

    def read_on(self, ready: bool) -> None:
        """Stop or go on reading from the agent."""


class Session(Protocol):
    """One connection's other side. Bytes arrive exactly as an origin would be sent them."""

    async def connect(self) -> None:
        """Be ready for bytes, or raise `OriginUnreachable`."""

    async def secure(self, server_name: str | None, *, alpn: bool) -> OriginFlaw | None:
        """The agent begins TLS: do so towards the origin, and say what is wrong with it."""

    def received(self, data: bytes) -> None:
        """Bytes from the agent, decrypted."""

    def asked(self, events: list[WireEvent], data: bytes) -> None:
        """The same bytes, and what they are, from somebody who has read them already."""

    def opaque(self, data: bytes, why: str) -> None:
        """The connection is not HTTP: from now on bytes, in both directions."""

    def ended(self) -> None:
        """The agent will send no more."""

    def lost(self, error: Exception | None) -> None:
        """The agent is gone."""

    def writable(self, ready: bool) -> None:
        """The agent reads slower than bytes come, or has caught up."""

    def released(self) -> None:
        """The agent's connection goes on with another session; this one is over."""

    @property
    def idle(self) -> bool:
        """Whether every request so far has its whole reply."""

    @property
    def raw(self) -> bool:
        """Whether the connection speaks HTTP no more: opaque, or switched to another protocol."""


class Service(Protocol):
    """What the proxy serves from: origins (a recording) or a tape (a replay)."""

    def session(self, route: Route, wire: Wire) -> Session:
        """The other side for one connection."""

    def missing(self, what: str, detail: str, process_id: int) -> None:
        """Something happened on a connection that could not be recorded or replayed."""

    def passed_by(self, program: str, pid: int, host: str, port: int, process_id: int) -> None:
        """A probe tells of a connection that does not go through the proxy."""


class ExchangeTap(Protocol):
    """Hears one exchange as it passes, each call after the bytes have gone on."""

    def request_data(self, payload: bytes, continues: bool) -> None:
        """Body bytes from the agent; `continues` the same chunk of the sender."""

    def request_end(self, framing: Framing, chunk_lines: bytes, trailers: bytes) -> None:
        """The request is complete."""

    def request_cut(self, ended: BodyEnd) -> None:
        """The connection ended, as `ended` says, after the reply and before the whole request."""

    def restored(self) -> None:
        """The folders have just been put as they were recorded; the agent waits for its reply."""

    def edited(self, body: bytes, why: str) -> None:
        """The origin is sent this body instead of the agent's."""

    def reply_head(self, head: Head, interim: bool) -> None:
        """A head from the origin."""

    def reply_data(self, payload: bytes, continues: bool) -> None:
        """Body bytes from the origin."""

    def reply_end(
        self, framing: Framing, chunk_lines: bytes, trailers: bytes, ended: BodyEnd
    ) -> None:
        """The reply is over, and how."""

    def switched(self, head: Head) -> None:
        """A 101 reply: what follows is the other protocol."""

    def switched_data(self, sender: Side, data: bytes) -> None:
        """Bytes after the switch."""

    def failed(self, ended: BodyEnd, reason: str, chunk_lines: bytes = b"") -> None:
        """The connection ended before the exchange did; `chunk_lines` are the reply's so far."""


class TunnelTap(Protocol):
    """Hears a connection that is not HTTP."""

    def data(self, sender: Side, data: bytes) -> None:
        """Bytes that passed."""

    def closed(self, ended: BodyEnd) -> None:
        """The connection is over."""


class Tap(Protocol):
    """A recording session, as the relay sees it."""

    @property
    def refusal(self) -> str | None:
        """Why nothing more may pass (the tape cannot be written), or None."""

    @property
    def congested(self) -> bool:
        """Whether the tape is far behind the traffic: reading waits until it has caught up."""

    def may_answer(self, connection_id: int, then: Callable[[], None]) -> bool:
        """Whether the agent may have bytes of the origin now; if not, `then` is called once it may.

        `then` may be called from another thread.
        """

    def answer_anyway(self, connection_id: int) -> None:
        """The agent is given them all the same: it has waited long enough."""

    def exchange(self, route: Route, head: Head, framing: Framing) -> ExchangeTap:
        """A request head passed."""

    def tunnel(self, route: Route, why: str) -> TunnelTap:
        """A connection turned out not to be HTTP."""

    def connection_failed(
        self, route: Route, phase: Phase, reason: str, error: str, shown: str = ""
    ) -> None:
        """An origin could not be reached."""

    def missing(self, what: str, detail: str, process_id: int) -> None:
        """Something could not be recorded."""
