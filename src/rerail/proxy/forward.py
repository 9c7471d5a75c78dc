"""Requests that reach the proxy itself: each head names its origin, and is rewritten for it.

Used for absolute-form requests to the proxy port (plain HTTP) and for a reverse listener, where the
origin is fixed. Bodies and framing pass as they are.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Self

from rerail.proxy.answers import NOT_OURS, caller, refusal
from rerail.proxy.channel import Channel
from rerail.proxy.handler import Listening, OriginUnreachable, Route, Service, Session
from rerail.proxy.reverse import Origin, meant
from rerail.wire.forms import DEFAULT_PORTS, split_absolute, split_authority, with_host, with_target
from rerail.wire.http1 import End, Head, HeadSeen, Opaque, RequestScanner, WireEvent, request_line

IDLE_CHECK_SECONDS: Final = 0.002

Located = tuple[Route, Head] | bytes
"""Where a request goes and the head to send there, or a whole reply that refuses it."""


class Forward:
    """Owns an agent's channel and gives each request to the session of its origin."""

    def __init__(
        self, service: Service, channel: Channel, locate: Callable[[Head], Located]
    ) -> None:
        self._service = service
        self._channel = channel
        self._locate = locate
        self._scanner = RequestScanner(keep_raw=True)
        self._queue: deque[WireEvent] = deque()
        self._route: Route | None = None
        self._session: Session | None = None
        self._switching: asyncio.Task[None] | None = None
        self._inside_message = False
        self._refused = False
        self._ended = False

    @classmethod
    def proxied(
        cls, connection_id: int, listening: Listening, service: Service, channel: Channel
    ) -> Self:
        """Absolute-form requests to the proxy port (RFC 9112 section 3.2.2)."""

        def locate(head: Head) -> Located:
            process_id = caller(head, listening.token)
            if process_id is None:
                return NOT_OURS
            target = request_line(head).target
            absolute = split_absolute(target)
            if absolute is None:
                # Origin form: somebody took the proxy's address for an origin's.
                host, port = split_authority((head.get(b"host") or b"").decode("latin-1"), 80)
                if not host or (host, port) == channel.local_address:
                    return refusal(b"400 Bad Request", "this is rerail's proxy port, not an origin")
                absolute = ("http", host, port, target)
            scheme, host, port, path = absolute
            if not port:
                return refusal(b"400 Bad Request", "the request's port is no number")
            sent = with_target(head, path)
            origin = meant(listening.others, host, port)
            if origin is not None:
                return _standing_for(Route(connection_id, *origin, process_id), sent)
            return Route(connection_id, scheme, host, port, process_id), sent

        return cls(service, channel, locate)

    @classmethod
    def reverse(
        cls,
        connection_id: int,
        origin: Origin,
        service: Service,
        channel: Channel,
        *,
        process_id: int = 0,
    ) -> Self:
        """Origin-form requests to a listener that stands for one origin."""
        route = Route(connection_id, *origin, process_id)
        return cls(service, channel, lambda head: _standing_for(route, head))

    def received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._session is not None and self._session.raw:
            # What came before the switch was answered belongs to the other protocol too.
            self._session.received(self._scanner.take_held() + data)
            return
        self._queue.extend(self._scanner.feed(data))
        if self._switching is None:
            self._drain()

    def ended(self) -> None:
        self._ended = True
        if self._switching is not None:
            return
        if self._session is not None:
            self._session.ended()
        else:
            self._channel.close()

    def lost(self, error: Exception | None) -> None:
        if self._switching is not None:
            self._switching.cancel()
        if self._session is not None:
            self._session.lost(error)

    def writable(self, ready: bool) -> None:
        if self._session is not None:
            self._session.writable(ready)

    def _drain(self, *sending_first: WireEvent) -> None:
        """Give the session what is queued, as few writes as there are changes of origin."""
        sending = list(sending_first)
        while self._queue:
            event = self._queue.popleft()
            if not isinstance(event, HeadSeen):
                if isinstance(event, Opaque) and not self._inside_message:
                    self._send(sending)
                    self._refuse(refusal(b"400 Bad Request", f"cannot forward {event.why}"))
                    return
                self._inside_message = self._inside_message and not isinstance(event, End)
                sending.append(event)
                continue
            self._inside_message = True
            located = self._locate(event.head)
            if isinstance(located, bytes):
                self._send(sending)
                self._refuse(located)
                return
            route, head = located
            sending_head = HeadSeen(head, event.framing, raw=head.raw)
            if route != self._route or self._session is None:
                self._send(sending)
                self._channel.read_on(False)
                switch = self._switch(route, sending_head)
                self._switching = asyncio.get_running_loop().create_task(switch)
                self._switching.add_done_callback(self._switched)
                return
            sending.append(sending_head)
        self._send(sending)

    def _refuse(self, reply: bytes) -> None:
        """Nothing that comes after it could be told apart, so the connection ends with it."""
        self._refused = True
        self._queue.clear()
        self._channel.write(reply)
        self._channel.close()

    def _send(self, sending: list[WireEvent]) -> None:
        if sending and self._session is not None:
            self._session.asked(sending.copy(), b"".join([event.raw for event in sending]))
            sending.clear()

    def _switched(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._service.missing("a connection could not be served", repr(error), 0)
            self._channel.reset()

    async def _switch(self, route: Route, head: HeadSeen) -> None:
        """Another origin: replies come in the order of requests, so the last one's end first."""
        while self._session is not None and not self._session.idle:
            await asyncio.sleep(IDLE_CHECK_SECONDS)
        if self._session is not None:
            self._session.released()
        self._route, self._session = route, self._service.session(route, self._channel)
        try:
            await self._session.connect()
            if route.scheme == "https":
                flaw = await self._session.secure(None, alpn=True)
                if flaw is not None:
                    raise OriginUnreachable(f"the certificate of {route.host}: {flaw.text}")
        except OriginUnreachable as unreachable:
            self._session = None
            self._channel.write(refusal(b"502 Bad Gateway", unreachable.reason))
            self._channel.close()
            return
        self._switching = None
        self._channel.read_on(True)
        self._drain(head)
        if self._ended and self._switching is None:
            self._session.ended()


def _standing_for(route: Route, head: Head) -> tuple[Route, Head]:
    """A request to a port that stands for an origin, as that origin is to see it."""
    short = route.port == DEFAULT_PORTS[route.scheme]
    name = route.authority.rpartition(":")[0] if short else route.authority
    return route, with_host(head, name.encode())
