"""Origins as options name them, and how they are reached: --resolve, --listen, --upstream."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rerail.errors import UsageProblem
from rerail.wire.forms import split_authority, split_url

if TYPE_CHECKING:
    from rerail.playback.stage import LiveCalls
    from rerail.proxy.reach import UpstreamSettings

Address = tuple[str, int]
Verb = TypeVar("Verb", bound=Callable[..., Any])


def resolve_option(when: str = "") -> Callable[[Verb], Verb]:
    """`--resolve`; `when` says when an origin is reached at all."""
    help_ = f"{when}reach this origin at another address."
    return click.option(
        "--resolve",
        "resolved",
        metavar="HOST:PORT=ADDR:PORT",
        multiple=True,
        help=help_[0].upper() + help_[1:],
    )


def resolve_map(resolved: tuple[str, ...]) -> dict[Address, Address]:
    """`HOST:PORT=ADDR:PORT` (or curl's `HOST:PORT:ADDR`) as a table of addresses."""
    table: dict[Address, Address] = {}
    for item in resolved:
        where, sign, place = item.partition("=")
        if not sign and item.count(":") >= 2:
            host, port, place = item.split(":", 2)
            where, place = f"{host}:{port}", f"{place}:{port}"
        origin, target = split_authority(where, 0), split_authority(place, 0)
        if not all((*origin, *target)):
            raise UsageProblem(
                f"cannot read `--resolve {item}`",
                hint="write --resolve api.example.com:443=127.0.0.1:8443",
            )
        table[origin] = target
    return table


def origin_map(
    listens: tuple[str, ...], upstreams: tuple[str, ...]
) -> dict[int, tuple[str, str, int]]:
    """The listening ports of a reverse recording, each with the origin it stands for."""
    if len(listens) != len(upstreams):
        raise UsageProblem(
            f"{len(listens)} × --listen and {len(upstreams)} × --upstream",
            hint="give one --upstream URL for each --listen PORT, in the same order",
        )
    table: dict[int, tuple[str, str, int]] = {}
    for listen, upstream in zip(listens, upstreams, strict=True):
        host, port = split_authority(listen if ":" in listen else f"127.0.0.1:{listen}", 0)
        origin = split_url(upstream)
        if host not in ("127.0.0.1", "localhost", "") or not port or origin is None:
            raise UsageProblem(
                f"cannot use `--listen {listen} --upstream {upstream}`",
                hint="loopback only: --listen 127.0.0.1:8080 --upstream https://api.example.com",
            )
        table[port] = origin
    return table


def reach(
    environment: Mapping[str, str],
    *,
    overrides: Mapping[Address, Address],
    proxy: str | None = None,
    client_certificate: Path | None = None,
) -> "UpstreamSettings":
    """How a recorder started in this environment reaches origins; `proxy` stands for its own."""
    from msgspec.structs import replace

    from rerail.launch.environment import trusted_roots
    from rerail.proxy.reach import UpstreamProxy, UpstreamSettings

    settings = UpstreamSettings() if proxy else UpstreamSettings.from_environment(environment)
    file, folder = trusted_roots(environment)
    named = UpstreamProxy.parse(proxy) if proxy else None
    return replace(
        settings,
        overrides=overrides,
        proxies={"http": named, "https": named} if named else settings.proxies,
        trust_file=file,
        trust_folder=folder,
        client_certificate=client_certificate,
    )


def live_origins(environment: Mapping[str, str], resolved: tuple[str, ...]) -> "LiveCalls":
    """Where a replay that may go on live reaches origins."""
    from rerail.playback.live import LiveOrigins

    return LiveOrigins(reach(environment, overrides=resolve_map(resolved)))
