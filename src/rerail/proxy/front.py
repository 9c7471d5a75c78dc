"""The agent's end of a connection: what it wants is found out, then its bytes go to a session.

CONNECT, absolute-form requests and a reverse listener all end in the same thing, a `Session` that
gets bytes as an origin would. This module knows neither recording nor replaying.
"""

import asyncio
import ssl
from typing import Final

from rerail.proxy.answers import ESTABLISHED, HANDSHAKE_FAILURE, NOT_OURS, caller, refusal
from rerail.proxy.certs import Authority
from rerail.proxy.channel import Channel
from rerail.proxy.forward import Forward
from rerail.proxy.handler import Listening, OriginUnreachable, Route, Service, Session
from rerail.proxy.reverse import meant
from rerail.wire.client_hello import ClientHello, read_client_hello, sniff
from rerail.wire.forms import split_authority
from rerail.wire.http1 import HEAD_LIMIT, Head, head_end, parse_head, request_line

ORIGIN_FIRST_SECONDS: Final = 0.3
EARLY_LIMIT: Final = 2 * HEAD_LIMIT
"""Bytes of an agent that are held while its origin is being reached."""
HTTP_1: Final = frozenset({b"http/1.1", b"http/1.0"})


class Closed(Exception):
    """The agent closed before it said what it wants."""


class Front:
    """Owns an agent's channel until a session takes over."""

    def __init__(
        self,
        connection_id: int,
        listening: Listening,
        service: Service,
        authority: Authority,
    ) -> None:
        self._connection_id = connection_id
        self._listening = listening
        self._service = service
        self._authority = authority
        self.channel = Channel(self, lingers=True)
        self._early = b""
        self._closed = False
        self._changed = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._open())

    # The channel's owner while nothing is decided.

    def received(self, data: bytes) -> None:
        self._early += data
        if len(self._early) > EARLY_LIMIT:
            self.channel.read_on(False)
        self._changed.set()

    def ended(self) -> None:
        self._closed = True
        self._changed.set()

    def lost(self, error: Exception | None) -> None:
        self.ended()

    def writable(self, ready: bool) -> None:
        pass

    async def _more(self) -> None:
        if self._closed:
            raise Closed
        self._changed.clear()
        await self._changed.wait()

    # What the agent wants.

    async def _open(self) -> None:
        try:
            reverse = self._listening.reverse
            number, service, channel = self._connection_id, self._service, self.channel
            if reverse is not None:
                self._hand_over(Forward.reverse(number, reverse, service, channel))
                return
            head = await self._head()
            if request_line(head).method == b"CONNECT":
                await self._tunnel(head)
            else:
                self._hand_over(Forward.proxied(number, self._listening, service, channel))
        except Closed:
            self.channel.close()

    async def _head(self) -> Head:
        while (end := head_end(self._early)) < 0:
            if len(self._early) > HEAD_LIMIT:
                self.channel.write(
                    refusal(b"431 Request Header Fields Too Large", "the head is too large")
                )
                raise Closed
            await self._more()
        return parse_head(self._early[:end])

    def _hand_over(self, owner: "Forward | Session") -> None:
        early, self._early = self._early, b""
        self.channel.owner = owner
        self.channel.read_on(True)
        if early:
            owner.received(early)
        if self._closed:
            owner.ended()

    async def _tunnel(self, head: Head) -> None:
        self._early = self._early[len(head.raw) :]
        # A probe connects beneath its client, which would take an answer for the origin's bytes.
        answers = head.get(b"rerail-answer") != b"none"
        process_id = caller(head, self._listening.token)
        if process_id is None:
            self._decline(NOT_OURS, answers)
            raise Closed
        host, port = split_authority(request_line(head).target.decode("latin-1"), 443)
        if not host or not port:
            self._decline(refusal(b"400 Bad Request", "CONNECT needs host:port"), answers)
            raise Closed
        passed = head.get(b"rerail-passed")
        if passed is not None:
            pid, _, program = passed.decode("utf-8", "replace").partition(" ")
            self._service.passed_by(
                program, int(pid) if pid.isdigit() else 0, host, port, process_id
            )
            raise Closed
        origin = meant(self._listening.others, host, port)
        if origin is not None:
            if answers:
                self.channel.write(ESTABLISHED)
            number, service, channel = self._connection_id, self._service, self.channel
            self._hand_over(
                Forward.reverse(number, origin, service, channel, process_id=process_id)
            )
            return
        route = Route(self._connection_id, "http", host, port, process_id, tunnel=True)
        session = self._service.session(route, self.channel)
        try:
            await session.connect()
        except OriginUnreachable as unreachable:
            self._decline(refusal(b"502 Bad Gateway", unreachable.reason), answers)
            raise Closed from unreachable
        if answers:
            self.channel.write(ESTABLISHED)
        try:
            await self._inside(session, route)
        except Closed:
            session.lost(None)
            raise

    def _decline(self, reply: bytes, answers: bool) -> None:
        if answers:
            self.channel.write(reply)
        else:
            self.channel.reset()

    async def _inside(self, session: Session, route: Route) -> None:
        """The first bytes in a tunnel say what it carries."""
        while (kind := sniff(self._early)) == "more" and not session.raw:
            try:
                await asyncio.wait_for(self._more(), ORIGIN_FIRST_SECONDS)
            except TimeoutError:
                continue
        if kind == "tls" and not session.raw:
            await self._secure(session, route)
        elif kind in ("http", "more") or session.raw:
            self._hand_over(session)
        else:
            self._pass_opaque(session, f"the tunnel carries {kind}, which is not read")

    def _pass_opaque(self, session: Session, why: str) -> None:
        session.opaque(b"", why)
        self._hand_over(session)

    async def _secure(self, session: Session, route: Route) -> None:
        hello = await self._client_hello()
        if hello is None:
            self._pass_opaque(session, "TLS that cannot be read")
            return
        if hello.protocols and not HTTP_1.intersection(hello.protocols):
            offered = b", ".join(hello.protocols).decode("latin-1")
            self._service.missing(
                "TLS without HTTP/1.1", f"{route.authority}: {offered}", route.process_id
            )
            self._pass_opaque(session, f"TLS that offers only {offered}")
            return
        # An origin may speak, or leave, as soon as its own handshake is over.
        self.channel.expect_tls()
        try:
            flaw = await session.secure(hello.server_name, alpn=b"http/1.1" in hello.protocols)
        except OriginUnreachable as unreachable:
            self.channel.expect_no_tls()
            self._break_handshake(unreachable.error)
            raise Closed from unreachable
        name = hello.server_name or route.host
        context = self._authority.server_context(name, mirrored=flaw)
        early, self._early = self._early, b""
        session.writable(False)
        try:
            await self.channel.start_tls(context, server_side=True, early=early)
        except (ssl.SSLError, OSError) as error:
            if flaw is None:
                detail = f"{route.authority}: {getattr(error, 'reason', None) or error}"
                self._service.missing(
                    "the agent did not accept the recorder's certificate", detail, route.process_id
                )
            raise Closed from error
        self._hand_over(session)
        session.writable(True)

    def _break_handshake(self, error: str) -> None:
        """No certificate to show and no HTTP to say it in: the handshake breaks, as it did."""
        match error:
            case "SSLError":
                self.channel.write(HANDSHAKE_FAILURE)
            case "SSLEOFError":
                pass
            case _:
                self.channel.reset()

    async def _client_hello(self) -> ClientHello | None:
        while True:
            found = read_client_hello(self._early)
            if isinstance(found, ClientHello):
                return found
            if found == "not_tls":
                return None
            await self._more()
