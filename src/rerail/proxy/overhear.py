"""One connection's bytes in both directions, understood as they pass, and told to a tap.

Given copies; it passes nothing on and changes nothing. What cannot be read as HTTP becomes opaque
bytes for a tunnel. Used by a recording's relay, and by a replay that is itself recorded.
"""

from collections import deque

from msgspec.structs import replace

from rerail.proxy.handler import ExchangeTap, Route, Tap, TunnelTap
from rerail.tape.records import BodyEnd
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


class Overhearing:
    """What the two sides of a connection say to each other."""

    def __init__(self, route: Route, tap: Tap) -> None:
        self.route = route
        self._tap = tap
        self._requests = RequestScanner()
        self._replies = ReplyScanner()
        self._waiting: deque[ExchangeTap] = deque()
        self._sending: ExchangeTap | None = None
        self._complete = True
        self._switched: ExchangeTap | None = None
        self._tunnel: TunnelTap | None = None
        self._over = False

    @property
    def idle(self) -> bool:
        """Whether every request so far has its whole reply."""
        return not self._waiting and self._complete

    @property
    def unanswered(self) -> bool:
        """Whether a request waits for its reply, or for the rest of it."""
        return bool(self._waiting)

    @property
    def raw(self) -> bool:
        """Whether the connection speaks HTTP no more."""
        return self._tunnel is not None or self._switched is not None

    def secured(self) -> None:
        """What is overheard from now on came over TLS."""
        self.route = replace(self.route, scheme="https")

    def agent(self, data: bytes) -> None:
        """Bytes of the agent."""
        if self._tunnel is not None:
            self._tunnel.data("agent", data)
        elif self._switched is not None:
            self._switched.switched_data("agent", data)
        else:
            self.asked(self._requests.feed(data))

    def asked(self, events: list[WireEvent]) -> None:
        """What the agent's bytes are, from somebody who has read them already."""
        for event in events:
            self._asked(event)

    def edited(self, body: bytes, why: str) -> None:
        """The last request's body, or the agent's last message, goes to the origin as this one."""
        exchange = self._switched or self._sending
        if exchange is not None:
            exchange.edited(body, why)

    def restored(self) -> None:
        """Before the last request goes on, the folders were put as they had been recorded."""
        exchange = self._switched or self._sending
        if exchange is not None:
            exchange.restored()

    def origin(self, data: bytes) -> None:
        """Bytes of the origin."""
        if self._tunnel is not None:
            self._tunnel.data("origin", data)
        elif self._switched is not None:
            self._switched.switched_data("origin", data)
        elif self._sending is None and self.route.tunnel:
            self.became_opaque("the origin spoke first")
            self.origin(data)
        else:
            for event in self._replies.feed(data):
                self._answered(event)

    def became_opaque(self, why: str) -> None:
        """The connection is not HTTP, or not any more."""
        if self._tunnel is not None:
            return
        while self._waiting:
            self._waiting.popleft().failed("cut", f"the connection stopped being HTTP: {why}")
        self._complete = True
        self._tunnel = self._tap.tunnel(self.route, why)

    def origin_ended(self, *, truncated: bool = False) -> None:
        """The origin will send no more: what it framed by closing is complete, all else is cut.

        TLS that was `truncated` completes nothing (RFC 9112 section 9.8).
        """
        if not self.raw and not self._over:
            for event in self._replies.end_of_stream():
                if not (truncated and isinstance(event, End)):
                    self._answered(event)
        if self.raw:
            self.finish("complete", "the origin closed the connection")
        elif truncated:
            self.finish("truncated", "the origin ended TLS without a close_notify")
        else:
            self.finish("cut", "the origin closed the connection")

    def finish(self, ended: BodyEnd, reason: str) -> None:
        """The connection is over; whatever was under way ended like this."""
        if self._over:
            return
        self._over = True
        if self._sending is not None and not self._complete and self._sending not in self._waiting:
            self._sending.request_cut(ended)
        lines = self._replies.lines_of_broken_chunks
        while self._waiting:
            self._waiting.popleft().failed(ended, reason, lines)
            lines = b""
        if self._switched is not None:
            self._switched.failed(ended, reason)
        if self._tunnel is not None:
            self._tunnel.closed(ended)

    def _asked(self, event: WireEvent) -> None:
        match event:
            case HeadSeen(head=head, framing=framing):
                self._sending = self._tap.exchange(self.route, head, framing)
                self._waiting.append(self._sending)
                self._complete = False
                self._replies.expect(request_line(head).method)
            case Data(payload=payload, continues=continues) if self._sending is not None:
                self._sending.request_data(payload, continues)
            case End(framing=framing, chunk_lines=lines, trailers=trailers) if self._sending:
                self._complete = True
                self._sending.request_end(framing, lines, trailers)
            case Opaque(raw=raw, why=why):
                self.became_opaque(why or "not HTTP")
                self.agent(raw)

    def _answered(self, event: WireEvent) -> None:
        exchange = self._waiting[0] if self._waiting else None
        match event:
            case HeadSeen(head=head, interim=interim) if exchange is not None:
                if status_line(head).status == 101:
                    self._waiting.popleft()
                    self._switched = exchange
                    exchange.switched(head)
                    # An agent may speak the other protocol before it knows that it may.
                    if held := self._requests.take_held():
                        exchange.switched_data("agent", held)
                else:
                    exchange.reply_head(head, interim)
            case Data(payload=payload, continues=continues) if exchange is not None:
                exchange.reply_data(payload, continues)
            case End(framing=framing, chunk_lines=lines, trailers=trailers) if exchange is not None:
                self._waiting.popleft()
                exchange.reply_end(framing, lines, trailers, "complete")
            case Opaque(raw=raw, why=why):
                if self._switched is None:
                    self.became_opaque(why or "not HTTP")
                self.origin(raw)
