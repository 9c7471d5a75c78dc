"""How origins are to be reached, as it was asked for. Makes no connection.

A recording must reach origins as the agent itself would have: with the trust store of the parent's
environment, through the parent's own proxy where one is set, with a client certificate if given.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from rerail.errors import UsageProblem

Address = tuple[str, int]


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
