"""Connections to origins: names, another proxy on the way, TLS. Knows nothing of agents."""

import asyncio
import ssl
from pathlib import Path

from rerail.errors import UsageProblem
from rerail.proxy.channel import Channel, Owner
from rerail.proxy.handler import Phase
from rerail.proxy.reach import UpstreamProxy, UpstreamSettings
from rerail.wire.http1 import head_end, parse_head, status_line


class DialFailed(Exception):
    """An origin was not reached; `phase` says how far it came."""

    def __init__(self, phase: Phase, reason: str, error: str) -> None:
        super().__init__(reason)
        self.phase = phase
        self.reason = reason
        self.error = error


class Dialer:
    """Makes connections to origins."""

    def __init__(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self._contexts: dict[tuple[bool, bool], ssl.SSLContext] = {}
        if settings.client_certificate is not None:
            self._check_client_certificate(settings.client_certificate)

    def _check_client_certificate(self, file: Path) -> None:
        try:
            self._context(verified=True, alpn=True)
        except (ssl.SSLError, OSError) as error:
            raise UsageProblem(
                f"cannot use the client certificate {file}",
                hint="give one PEM file that holds the certificate and its key, without a password",
            ) from error

    def proxy_for(self, scheme: str, host: str) -> UpstreamProxy | None:
        """The proxy on the way to this origin, if any."""
        return self._settings.proxy_for(scheme, host)

    async def connect(self, scheme: str, host: str, port: int, owner: Owner) -> Channel:
        """A connection over which bytes reach this origin; plain HTTP stops at the proxy."""
        proxy = self.proxy_for(scheme, host)
        if proxy is None:
            return await self._dial(host, port, owner)
        reply = _ConnectReply(owner)
        try:
            channel = await self._dial(proxy.host, proxy.port, reply)
            if proxy.secure:
                await channel.start_tls(
                    self._context(verified=True, alpn=False), server_hostname=proxy.host
                )
            if scheme != "http":
                await reply.ask(channel, host, port, proxy)
        except DialFailed as error:
            raise DialFailed("proxy", f"the upstream proxy: {error.reason}", error.error) from error
        except OSError as error:
            raise DialFailed(
                "proxy", f"the upstream proxy: {error}", type(error).__name__
            ) from error
        channel.owner = owner
        return channel

    async def secure(
        self, channel: Channel, name: str, *, alpn: bool, verified: bool = True
    ) -> None:
        """Begin TLS with the origin. Raises `ssl.SSLError` or `OSError`."""
        context = self._context(verified=verified, alpn=alpn)
        try:
            await channel.start_tls(context, server_hostname=name)
        except ssl.SSLError:
            raise  # One kind of it is a ValueError too.
        except ValueError as error:
            raise ssl.SSLError(f"`{name}` cannot be a server's name") from error

    async def _dial(self, host: str, port: int, owner: Owner) -> Channel:
        loop = asyncio.get_running_loop()
        to_host, to_port = self._settings.overrides.get((host.lower(), port), (host, port))
        try:
            _, channel = await loop.create_connection(
                lambda: Channel(owner), to_host, to_port, happy_eyeballs_delay=0.25
            )
        except (OSError, ValueError) as error:
            phase: Phase = "resolve" if _is_name_error(error) else "connect"
            reason = f"cannot connect to {host}:{port}: {getattr(error, 'strerror', 0) or error}"
            raise DialFailed(phase, reason, type(error).__name__) from error
        return channel

    def _context(self, *, verified: bool, alpn: bool) -> ssl.SSLContext:
        found = self._contexts.get((verified, alpn))
        if found is None:
            found = self._contexts[verified, alpn] = self._make_context(verified, alpn)
        return found

    def _make_context(self, verified: bool, alpn: bool) -> ssl.SSLContext:
        settings = self._settings
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if verified:
            if settings.trust_file or settings.trust_folder:
                context.load_verify_locations(settings.trust_file, settings.trust_folder)
            else:
                context.load_default_certs()
        else:
            # Only after the agent itself accepted a certificate with the same flaw.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if alpn:
            context.set_alpn_protocols(["http/1.1"])
        if settings.client_certificate is not None:
            # A password, though an empty one: else OpenSSL would ask the agent's terminal for it.
            context.load_cert_chain(settings.client_certificate, password="")
        return context


def _is_name_error(error: Exception) -> bool:
    """Whether a name was not found, or is none (a label too long, a NUL)."""
    import socket

    return isinstance(error, socket.gaierror | ValueError)


class _ConnectReply:
    """Owns a channel to an upstream proxy until it has answered our CONNECT (RFC 9110 9.3.6)."""

    def __init__(self, later: Owner) -> None:
        self._later = later
        self._reply = b""
        self._answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def ask(self, channel: Channel, host: str, port: int, proxy: UpstreamProxy) -> None:
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {target} HTTP/1.1".encode(), f"Host: {target}".encode()]
        if proxy.authorization:
            lines.append(b"Proxy-Authorization: " + proxy.authorization)
        channel.write(b"\r\n".join(lines) + b"\r\n\r\n")
        await self._answered
        end = head_end(self._reply)
        status = status_line(parse_head(self._reply[:end]))
        if not 200 <= status.status < 300:
            channel.close()
            said = f"{status.status} {status.reason.decode('latin-1')}"
            raise DialFailed("proxy", f"it answered CONNECT with {said}", "ProxyRefused")
        channel.owner = self._later
        if self._reply[end:]:
            self._later.received(self._reply[end:])

    def received(self, data: bytes) -> None:
        self._reply += data
        if head_end(self._reply) > 0 and not self._answered.done():
            self._answered.set_result(None)

    def ended(self) -> None:
        self.lost(None)

    def lost(self, error: Exception | None) -> None:
        if not self._answered.done():
            self._answered.set_exception(error or ConnectionResetError("it closed the connection"))

    def writable(self, ready: bool) -> None:
        pass
