"""One request of rerail's own, over a connection of its own, told to a tap as an agent's would be.

It goes the way that every recorded request goes (`relay`): the tape has it byte for byte, the
credentials replaced. Knows nothing of what is asked.
"""

import asyncio

from msgspec import Struct

from rerail.proxy.handler import OriginUnreachable, Route, Tap
from rerail.proxy.relay import Relay
from rerail.proxy.upstream import Dialer
from rerail.wire.coding import decode
from rerail.wire.http1 import (
    Data,
    End,
    Head,
    HeadSeen,
    ReplyScanner,
    head_end,
    parse_head,
    request_line,
    status_line,
)


class Reply(Struct, frozen=True):
    """A whole reply; `body` with its content coding undone."""

    status: int
    head: Head
    body: bytes


class NoReply(Exception):
    """No whole reply came; `sent` says whether the request may have reached the origin."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent


def ask(route: Route, request: bytes, tap: Tap, dialer: Dialer, *, seconds: float) -> Reply:
    """Send a whole request and wait for the whole reply, in an event loop of this call's own.

    Args:
        route: Where to; `https` is verified as the dialer's settings say.
        request: Head and body as they are to stand on the wire.
        tap: Hears both, such as a `Recorder`.
        dialer: Makes the connection.
        seconds: How long to wait, all in all.

    Raises:
        NoReply: The origin was not reached, went away, or took too long.
    """
    return asyncio.run(_ask(route, request, tap, dialer, seconds))


async def _ask(route: Route, request: bytes, tap: Tap, dialer: Dialer, seconds: float) -> Reply:
    wire = _Collected(request)
    relay = Relay(route, wire, tap, dialer)
    try:
        async with asyncio.timeout(seconds):
            await _connect(relay, route)
            relay.received(request)
            return await wire.reply
    except TimeoutError as error:
        raise NoReply(f"no reply within {seconds:g} s", sent=True) from error
    finally:
        wire.reply.cancel()
        relay.lost(None)


async def _connect(relay: Relay, route: Route) -> None:
    try:
        await relay.connect()
        flaw = await relay.secure(None, alpn=True) if route.scheme == "https" else None
    except OriginUnreachable as error:
        raise NoReply(error.reason, sent=False) from error
    if flaw is not None:
        raise NoReply(f"the certificate of {route.host}: {flaw.text}", sent=False)


class _Collected:
    """The agent's end of the relay, where nobody but us reads: puts the reply together."""

    def __init__(self, request: bytes) -> None:
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._scanner = ReplyScanner()
        self._scanner.expect(request_line(parse_head(request[: head_end(request)])).method)
        self._head: Head | None = None
        self._body = bytearray()

    def write(self, data: bytes) -> None:
        for event in self._scanner.feed(data):
            match event:
                case HeadSeen(head=head, interim=False):
                    self._head = head
                case Data(payload=payload):
                    self._body += payload
                case End():
                    self._whole()

    def _whole(self) -> None:
        if self._head is None or self.reply.done():
            return
        coding = (self._head.get(b"content-encoding") or b"").decode("latin-1")
        body = decode(bytes(self._body), coding)
        if body is None:
            self._broken(f"its content coding `{coding}` cannot be undone")
            return
        self.reply.set_result(Reply(status_line(self._head).status, self._head, body))

    def _broken(self, reason: str) -> None:
        if not self.reply.done():
            self.reply.set_exception(NoReply(reason, sent=True))

    def close(self) -> None:
        for event in self._scanner.end_of_stream():
            if isinstance(event, End):
                self._whole()
        self._broken("the connection was closed before the reply was whole")

    def cut(self) -> None:
        self._broken("the connection was cut before the reply was whole")

    def reset(self) -> None:
        self._broken("the connection was reset")

    def write_end(self) -> None:
        pass

    def read_on(self, ready: bool) -> None:
        pass
