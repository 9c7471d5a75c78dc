"""A recording's session: bytes go on to the origin first; what they were, a tap is told after.

Nothing here changes what passes. What cannot be read as HTTP is passed on all the same and told as
opaque bytes; what goes wrong at the origin reaches the agent in the form it had there.
"""

import asyncio
import ssl
from collections import deque
from dataclasses import replace
from typing import Final

from rerail.proxy.certs import OriginFlaw, classify
from rerail.proxy.channel import Channel
from rerail.proxy.handler import (
    ExchangeTap,
    OriginUnreachable,
    Route,
    Tap,
    TunnelTap,
    Wire,
)
from rerail.proxy.upstream import Dialer, DialFailed
from rerail.tape.records import BodyEnd
from rerail.wire.forms import with_target
from rerail.wire.http1 import (
    Data,
    End,
    HeadSeen,
    Opaque,
    ReplyScanner,
    RequestScanner,
    WireEvent,
    request_line,
    status_line,
)

CONGESTION_CHECK_SECONDS: Final = 0.01


class Relay:
    """One agent connection and the origin connection that belongs to it."""

    def __init__(self, route: Route, wire: Wire, tap: Tap, dialer: Dialer) -> None:
        self._route = route
        self._wire = wire
        self._tap = tap
        self._dialer = dialer
        self._origin = Channel()
        self._requests = RequestScanner()
        self._replies = ReplyScanner()
        self._waiting: deque[ExchangeTap] = deque()
        self._sending: ExchangeTap | None = None
        self._switched: ExchangeTap | None = None
        self._tunnel: TunnelTap | None = None
        self._to_proxy: _ToProxy | None = None
        self._over = False
        self._agent_ready = self._origin_ready = True

    # Setting up.

    async def connect(self) -> None:
        if self._tap.refusal is not None:
            raise OriginUnreachable(self._tap.refusal)
        route = self._route
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
        name = server_name or self._route.host
        self._route = replace(self._route, scheme="https")
        try:
            await self._dialer.secure(self._origin, name, alpn=alpn)
            return None
        except ssl.SSLCertVerificationError as error:
            flaw = classify(error)
            self._failed_tls(error, flaw.kind)
        except (ssl.SSLError, OSError) as error:
            self._failed_tls(error, "")
            raise OriginUnreachable(f"TLS with {name} failed: {error}") from error
        # The agent will be shown the same flaw. Should it accept it, so must we.
        self._origin.owner = None
        self._origin.close()
        await self.connect()
        try:
            await self._dialer.secure(self._origin, name, alpn=alpn, verified=False)
        except (ssl.SSLError, OSError) as error:
            raise OriginUnreachable(f"TLS with {name} failed: {error}") from error
        shown = self._origin.tls
        return replace(flaw, certificate=(shown and shown.getpeercert(binary_form=True)) or b"")

    def _failed_tls(self, error: OSError, shown: str) -> None:
        reason = getattr(error, "verify_message", "") or error.strerror or str(error)
        self._tap.connection_failed(self._route, "tls", reason, type(error).__name__, shown)

    # What the agent does.

    def received(self, data: bytes) -> None:
        if self._tap.refusal is not None:
            self._stop_unrecorded()
            return
        self._origin.write(self._to_proxy.feed(data) if self._to_proxy else data)
        if self._tunnel is not None:
            self._tunnel.data("agent", data)
        elif self._switched is not None:
            self._switched.switched_data("agent", data)
        else:
            for event in self._requests.feed(data):
                self._sent(event)
        if self._tap.congested:
            self._wait_for_tape()

    def opaque(self, data: bytes, why: str) -> None:
        self._become_tunnel(why)
        if data:
            self.received(data)

    def ended(self) -> None:
        """HTTP over TLS is never half-closed; over plain TCP the half-close is passed on."""
        if self._route.scheme == "https" or not self._waiting:
            self.lost(None)
        else:
            self._origin.write_end()

    def lost(self, error: Exception | None) -> None:
        if self._over:
            return
        self._finish("agent_closed", "the agent closed the connection")
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
        return not self._waiting and self._requests.between_messages

    @property
    def raw(self) -> bool:
        return self._tunnel is not None or self._switched is not None

    def _sent(self, event: WireEvent) -> None:
        match event:
            case HeadSeen(head=head, framing=framing):
                self._sending = self._tap.exchange(self._route, head, framing)
                self._waiting.append(self._sending)
                self._replies.expect(request_line(head).method)
            case Data(payload=payload, continues=continues) if self._sending is not None:
                self._sending.request_data(payload, continues)
            case End(framing=framing, chunk_lines=lines, trailers=trailers) if self._sending:
                self._sending.request_end(framing, lines, trailers)
            case Opaque(raw=raw, why=why):
                self._become_tunnel(why or "not HTTP")
                if self._tunnel is not None:
                    self._tunnel.data("agent", raw)

    # What the origin does.

    def from_origin(self, data: bytes) -> None:
        """Bytes from the origin."""
        if self._tap.refusal is not None:
            self._stop_unrecorded()
            return
        self._wire.write(data)
        if self._tunnel is not None:
            self._tunnel.data("origin", data)
        elif self._switched is not None:
            self._switched.switched_data("origin", data)
        elif not self._waiting and self._route.tunnel and self._sending is None:
            self._become_tunnel("the origin spoke first")
            self.from_origin_tunnel(data)
        else:
            for event in self._replies.feed(data):
                self._answered(event)
        if self._tap.congested:
            self._wait_for_tape()

    def from_origin_tunnel(self, data: bytes) -> None:
        """Bytes that were passed on already and belong to a tunnel."""
        if self._tunnel is not None:
            self._tunnel.data("origin", data)

    def origin_ended(self) -> None:
        """The origin will send no more."""
        if self._over:
            return
        if not self.raw:
            for event in self._replies.end_of_stream():
                self._answered(event)
        self._finish("cut" if not self.raw else "complete", "the origin closed the connection")
        self._origin.close()
        self._wire.close()

    def origin_lost(self, error: Exception | None) -> None:
        """The origin's connection is gone."""
        if self._over:
            return
        if error is None:
            self.origin_ended()
            return
        self._finish("reset", f"the origin reset the connection: {error}")
        self._wire.reset()

    def origin_writable(self, ready: bool) -> None:
        """The origin reads slower than the agent sends, or has caught up."""
        self._origin_ready = ready
        self._wire.read_on(ready)

    def _answered(self, event: WireEvent) -> None:
        exchange = self._waiting[0] if self._waiting else None
        match event:
            case HeadSeen(head=head, interim=interim) if exchange is not None:
                if status_line(head).status == 101:
                    self._waiting.popleft()
                    self._switched = exchange
                    exchange.switched(head)
                else:
                    exchange.reply_head(head, interim)
            case Data(payload=payload, continues=continues) if exchange is not None:
                exchange.reply_data(payload, continues)
            case End(framing=framing, chunk_lines=lines, trailers=trailers) if exchange is not None:
                self._waiting.popleft()
                exchange.reply_end(framing, lines, trailers, "complete")
            case Opaque(raw=raw, why=why):
                if self._switched is not None:
                    self._switched.switched_data("origin", raw)
                else:
                    self._become_tunnel(why or "not HTTP")
                    self.from_origin_tunnel(raw)

    # How it ends.

    def _become_tunnel(self, why: str) -> None:
        if self._tunnel is not None:
            return
        while self._waiting:
            self._waiting.popleft().failed("cut", f"the connection stopped being HTTP: {why}")
        self._tunnel = self._tap.tunnel(self._route, why)

    def _finish(self, ended: BodyEnd, reason: str) -> None:
        self._over = True
        while self._waiting:
            self._waiting.popleft().failed(ended, reason)
        if self._switched is not None:
            self._switched.failed(ended, reason)
        if self._tunnel is not None:
            self._tunnel.closed(ended)

    def _stop_unrecorded(self) -> None:
        """The tape cannot be written any more: nothing passes that would not be kept."""
        if self._over:
            return
        self._finish("cut", "the recording failed")
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
        self._extra = b"Proxy-Authorization: " + authorization if authorization else b""
        self._scanner = RequestScanner(keep_raw=True)

    def feed(self, data: bytes) -> bytes:
        return b"".join(map(self._rewritten, self._scanner.feed(data)))

    def _rewritten(self, event: WireEvent) -> bytes:
        if not isinstance(event, HeadSeen):
            return event.raw
        target = request_line(event.head).target
        return with_target(event.head, self._prefix + target, extra=self._extra)
