"""Connections to origins: names, overrides, another proxy on the way, TLS. Knows nothing of agents.

A recording must reach origins as the agent itself would have: with the trust store of the parent's
environment, through the parent's own proxy where one is set, with a client certificate if given.
"""

import asyncio
import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from rerail.errors import UsageProblem
from rerail.proxy.channel import Channel, Owner
from rerail.proxy.handler import Phase
from rerail.wire.http1 import head_end, parse_head, status_line

Address = tuple[str, int]


class DialFailed(Exception):
    """An origin was not reached; `phase` says how far it came."""

    def __init__(self, phase: Phase, reason: str, error: str) -> None:
        super().__init__(reason)
        self.phase = phase
        self.reason = reason
        self.error = error


class UpstreamProxy(Struct, frozen=True):
    """A proxy between the recorder and the origins."""

    host: str
    port: int
    authorization: bytes | None = None
    secure: bool = False

    @classmethod
    def parse(cls, url: str) -> "UpstreamProxy":
        """Read `http://user:password@host:port`."""
        try:
            parts = urlsplit(url if "//" in url else f"http://{url}")
            scheme, host, port = parts.scheme, parts.hostname, parts.port
        except ValueError as error:
            # Not shown: a password with such a sign in it may be what cannot be read.
            raise UsageProblem(
                "cannot read the URL of a proxy",
                hint="write http://[user:password@]host:port, other signs in a password as %2F",
            ) from error
        if scheme not in ("http", "https") or not host:
            raise UsageProblem(
                f"cannot use the proxy `{scheme}://{host or ''}`",
                hint="unset the proxy variable, or give an HTTP proxy with "
                "--upstream-proxy http://[user:password@]host:port",
            )
        secret = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            secret = b"Basic " + base64.b64encode(pair.encode())
        return cls(host, port or (443 if scheme == "https" else 80), secret, scheme == "https")


class UpstreamSettings(Struct, frozen=True):
    """How origins are reached.

    `overrides` maps (host, port) to the address to use instead, as curl's `--resolve` does.
    `proxies` maps a scheme to the proxy for it; `direct` are the hosts that bypass it (NO_PROXY).
    """

    overrides: Mapping[Address, Address] = field(default_factory=dict)
    proxies: Mapping[str, UpstreamProxy] = field(default_factory=dict)
    direct: tuple[str, ...] = ()
    trust_file: str | None = None
    trust_folder: str | None = None
    client_certificate: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "UpstreamSettings":
        """The proxies that the parent's environment names, lower case before upper case."""

        def named(name: str) -> str:
            found = environment.get(name.lower()) or environment.get(name.upper()) or ""
            return found.strip()

        anything = named("all_proxy")
        urls = {scheme: named(f"{scheme}_proxy") or anything for scheme in ("http", "https")}
        return cls(
            proxies={scheme: UpstreamProxy.parse(url) for scheme, url in urls.items() if url},
            direct=tuple(part.strip().lower() for part in named("no_proxy").split(",") if part),
        )

    def proxy_for(self, scheme: str, host: str) -> UpstreamProxy | None:
        """The proxy for this origin, if any."""
        proxy = self.proxies.get(scheme)
        if proxy is None or any(_covers(pattern, host.lower()) for pattern in self.direct):
            return None
        return proxy


def _covers(pattern: str, host: str) -> bool:
    bare = pattern.lstrip("*").lstrip(".")
    return pattern == "*" or host == bare or host.endswith(f".{bare}")


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
