"""A recording's session: bytes go on to the origin first; what they were, a tap is told after.

Nothing here changes what passes. What goes wrong at the origin reaches the agent in the form that
it had there.
"""

import asyncio
import ssl
from typing import Final

from rerail.proxy.certs import OriginFlaw, classify
from rerail.proxy.channel import Channel
from rerail.proxy.handler import OriginUnreachable, Route, Tap, Wire
from rerail.proxy.held import HeldWire
from rerail.proxy.overhear import Overhearing
from rerail.proxy.upstream import Dialer, DialFailed
from rerail.wire.forms import with_target
from rerail.wire.http1 import HeadSeen, RequestScanner, WireEvent, request_line

CONGESTION_CHECK_SECONDS: Final = 0.01

_HELD_BYTES: Final = 1 << 20


class Relay:
    """One agent connection and the origin connection that belongs to it."""

    def __init__(self, route: Route, wire: Wire, tap: Tap, dialer: Dialer) -> None:
        self._wire = HeldWire(wire, tap, route.connection_id, let_go=self._read_on)
        self._tap = tap
        self._dialer = dialer
        self._heard = Overhearing(route, tap)
        self._origin = Channel()
        self._to_proxy: _ToProxy | None = None
        self._over = False
        self._agent_ready = self._origin_ready = True

    # Setting up.

    async def connect(self) -> None:
        if self._tap.refusal is not None:
            raise OriginUnreachable(self._tap.refusal)
        route = self._heard.route
        scheme = "https" if route.tunnel else route.scheme
        try:
            self._origin = await self._dialer.connect(
                scheme, route.host, route.port, _OriginSide(self)
            )
        except DialFailed as failed:
            self._tap.connection_failed(route, failed.phase, failed.reason, failed.error)
            raise OriginUnreachable(failed.reason) from failed
        proxy = self._dialer.proxy_for(scheme, route.host)
        if proxy is not None and scheme == "http":
            self._to_proxy = _ToProxy(route.authority, proxy.authorization)

    async def secure(self, server_name: str | None, *, alpn: bool) -> OriginFlaw | None:
        self._heard.secured()
        name = server_name or self._heard.route.host
        try:
            await self._dialer.secure(self._origin, name, alpn=alpn)
            return None
        except ssl.SSLCertVerificationError as error:
            flaw = classify(error)
            self._failed_tls(error, flaw.kind)
        except (ssl.SSLError, OSError) as error:
            self._failed_tls(error, "")
            raise _no_tls(name, error) from error
        # The agent will be shown the same flaw. Should it accept it, so must we.
        self._origin.owner = None
        self._origin.close()
        await self.connect()
        try:
            await self._dialer.secure(self._origin, name, alpn=alpn, verified=False)
        except (ssl.SSLError, OSError) as error:
            raise _no_tls(name, error) from error
        return OriginFlaw(flaw.kind, flaw.text, flaw.code, self._origin.peer_certificate)

    def _failed_tls(self, error: OSError, shown: str) -> None:
        reason = getattr(error, "verify_message", "") or error.strerror or str(error)
        route = self._heard.route
        self._tap.connection_failed(route, "tls", reason, type(error).__name__, shown)

    # What the agent does.

    def received(self, data: bytes) -> None:
        if self._tap.refusal is not None:
            self._stop_unrecorded()
            return
        self._origin.write(self._to_proxy.feed(data) if self._to_proxy else data)
        self._heard.agent(data)
        if self._tap.congested:
            self._wait_for_tape()

    def asked(self, events: list[WireEvent], data: bytes) -> None:
        if self._tap.refusal is not None:
            self._stop_unrecorded()
            return
        self._origin.write(self._to_proxy.feed(data) if self._to_proxy else data)
        self._heard.asked(events)
        if self._tap.congested:
            self._wait_for_tape()

    def opaque(self, data: bytes, why: str) -> None:
        self._heard.became_opaque(why)
        if data:
            self.received(data)

    def ended(self) -> None:
        """HTTP over TLS is never half-closed; over plain TCP the half-close is passed on."""
        secure = self._heard.route.scheme == "https"
        if not self._heard.raw and (secure or not self._heard.unanswered):
            self.lost(None)
        else:
            self._origin.write_end()

    def lost(self, error: Exception | None) -> None:
        if self._over:
            return
        self._over = True
        self._heard.finish("agent_closed", "the agent closed the connection")
        if error is None:
            self._origin.close()
        else:
            self._origin.reset()
        self._wire.close()

    def writable(self, ready: bool) -> None:
        self._agent_ready = ready
        self._origin.read_on(ready)

    def released(self) -> None:
        self._over = True
        self._origin.close()

    @property
    def idle(self) -> bool:
        return self._heard.idle

    @property
    def raw(self) -> bool:
        return self._heard.raw

    # What the origin does.

    def from_origin(self, data: bytes) -> None:
        """Bytes from the origin."""
        if self._over:
            return
        if self._tap.refusal is not None:
            self._stop_unrecorded()
            return
        self._wire.ask_leave()
        self._wire.write(data)
        if self._wire.held > _HELD_BYTES:
            self._origin.read_on(False)
        self._heard.origin(data)
        if self._tap.congested:
            self._wait_for_tape()

    def _read_on(self) -> None:
        self._origin.read_on(self._agent_ready)

    def origin_ended(self) -> None:
        """The origin will send no more."""
        if self._over:
            return
        self._over = True
        truncated = self._origin.truncated
        self._heard.origin_ended(truncated=truncated)
        self._origin.close()
        if truncated:
            self._wire.cut()
        else:
            self._wire.close()

    def origin_lost(self, error: Exception | None) -> None:
        """The origin's connection is gone."""
        if self._over:
            return
        if error is None:
            self.origin_ended()
            return
        self._over = True
        self._heard.finish("reset", f"the origin reset the connection: {error}")
        self._wire.reset()

    def origin_writable(self, ready: bool) -> None:
        """The origin reads slower than the agent sends, or has caught up."""
        self._origin_ready = ready
        self._wire.read_on(ready)

    # How it ends, and what the tape asks for.

    def _stop_unrecorded(self) -> None:
        """The tape cannot be written any more: nothing passes that would not be kept."""
        if self._over:
            return
        self._over = True
        self._heard.finish("cut", "the recording failed")
        self._origin.close()
        self._wire.reset()

    def _wait_for_tape(self) -> None:
        self._wire.read_on(False)
        self._origin.read_on(False)
        asyncio.get_running_loop().call_later(CONGESTION_CHECK_SECONDS, self._go_on)

    def _go_on(self) -> None:
        if self._over:
            return
        if self._tap.congested:
            self._wait_for_tape()
            return
        self._wire.read_on(self._origin_ready)
        self._origin.read_on(self._agent_ready)


def _no_tls(name: str, error: OSError) -> OriginUnreachable:
    return OriginUnreachable(f"TLS with {name} failed: {error}", error=type(error).__name__)


class _OriginSide:
    """The relay as the owner of the origin's channel."""

    __slots__ = ("ended", "lost", "received", "writable")

    def __init__(self, relay: Relay) -> None:
        self.received = relay.from_origin
        self.ended = relay.origin_ended
        self.lost = relay.origin_lost
        self.writable = relay.origin_writable


class _ToProxy:
    """Plain HTTP through an upstream proxy: heads in absolute form (RFC 9112 section 3.2.2)."""

    def __init__(self, authority: str, authorization: bytes | None) -> None:
        self._prefix = b"http://" + authority.removesuffix(":80").encode()
        self._extra = (b"Proxy-Authorization", authorization) if authorization else None
        self._scanner = RequestScanner(keep_raw=True)

    def feed(self, data: bytes) -> bytes:
        return b"".join(map(self._rewritten, self._scanner.feed(data)))

    def _rewritten(self, event: WireEvent) -> bytes:
        if not isinstance(event, HeadSeen):
            return event.raw
        target = request_line(event.head).target
        return with_target(event.head, self._prefix + target, extra=self._extra).raw
