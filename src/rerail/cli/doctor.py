"""`rerail doctor`: what this machine can do for a recording and a replay, and the mend if not."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

import click
from msgspec import Struct, to_builtins

from rerail.errors import RerailError

State = Literal["ok", "limited", "missing"]

CLIENTS: Final = {
    "python3": "proxy and CA variables, and a probe for clients that ignore them",
    "node": "a probe that is loaded by NODE_OPTIONS",
    "curl": "proxy and CA variables",
    "git": "proxy and CA variables",
    "wget": "proxy variables and a start-up file",
}
"""Programs that are looked for, and how their traffic reaches the recorder."""


class Check(Struct, frozen=True):
    """One thing that was tried. `mend` is empty where there is nothing to be done."""

    name: str
    state: State
    detail: str
    mend: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def doctor(as_json: bool) -> int:
    """Try what recording and replaying need here. 0 where all works, else 1."""
    from rerail.cli.screen.texts import json_text, say

    checks = list(_checks(os.environ))
    if as_json:
        say(json_text([to_builtins(check) for check in checks]))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            say(f"{check.state:<8} {check.name:<{width}}  {check.detail}")
            if check.mend:
                say(f"{'':<8} {'':<{width}}  mend: {check.mend}")
    return int(any(check.state == "missing" for check in checks))


def _checks(environ: Mapping[str, str]) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("system", "ok", f"{platform.system()} {platform.release()}, Python {version}")
    yield _tried("certificate authority", _authority, environ)
    yield _tried("trust towards origins", _trust, environ)
    yield from _sandbox()
    yield _plane()
    yield _lookout(environ)
    yield _probes()
    yield _scripts()
    for name, how in CLIENTS.items():
        place = shutil.which(name, path=environ.get("PATH"))
        yield Check(name, "ok" if place else "limited", how if place else "not on PATH")


def _tried(
    name: str, check: Callable[[Mapping[str, str]], str], environ: Mapping[str, str]
) -> Check:
    try:
        return Check(name, "ok", check(environ))
    except RerailError as error:
        return Check(name, "missing", error.what, error.hint or "")


def _authority(environ: Mapping[str, str]) -> str:
    """Opens the user's CA, or makes it as the first recording would."""
    from rerail.proxy.certs import Authority, default_folder

    folder = default_folder(environ)
    Authority.open_or_create(folder)
    return f"{folder}, readable by you alone"


def _trust(environ: Mapping[str, str]) -> str:
    from rerail.launch.environment import trusted_roots

    roots = trusted_roots(environ)
    return ", ".join(place for place in roots if place) or "no certificates found"


def _sandbox() -> Iterator[Check]:
    """The level that a replay reaches here, and each layer: whether it holds, and else the mend."""
    from rerail.sandbox.choose import choose_sandbox
    from rerail.sandbox.view import Bind

    folder = Path(tempfile.gettempdir())
    elsewhere = Bind(folder, Path("/rerail-doctor/a-folder-that-is-not-here"))
    held = choose_sandbox(binds=[elsewhere], writable=[folder]).containment
    state: State = "missing" if held.level == "not contained" else "ok"
    mend = "" if state == "ok" else "a replay here is never green; see the layers below"
    yield Check("offline replay", state, held.level, mend)
    for layer in held.layers:
        yield Check(f"  {layer.name}", "ok", f"stops {layer.stops}")
    for gap in held.missing:
        detail = f"{gap.why}; lets through {gap.layer.stops}"
        yield Check(f"  {gap.layer.name}", "limited", detail, gap.layer.mend)


def _plane() -> Check:
    """Whether `rerail run` can keep an agent from a target's credential here."""
    from rerail.sandbox.plane import NEEDED, Plane

    held = Plane(writable=[Path(tempfile.gettempdir())], hidden=[]).containment
    gaps = [gap for gap in held.missing if gap.layer in NEEDED]
    if not gaps:
        return Check("tasks in two planes", "ok", "an agent is kept from what is not its own")
    detail = f"a contract with a target is refused: {gaps[0].layer.name}: {gaps[0].why}"
    return Check("tasks in two planes", "limited", detail, gaps[0].layer.mend)


def _scripts() -> Check:
    """Whether a durable script runs here."""
    from rerail.script.engine import Ended, Session, engine_name
    from rerail.script.limits import Limits

    try:
        session = Session.open("6 * 7", "doctor.py", Limits())
        try:
            ran = session.start({})
        finally:
            session.close()
        if ran == Ended(42):
            return Check("durable scripts", "ok", f"run on {engine_name()}")
        return Check("durable scripts", "limited", f"{engine_name()} miscounts: {ran}")
    except RerailError as error:
        return Check("durable scripts", "limited", error.what, error.hint or "")


def _lookout(environ: Mapping[str, str]) -> Check:
    from rerail.sandbox.lookout import why_not

    why = why_not(environ, None)
    if not why:
        return Check("what goes past a recording", "ok", "the kernel tells of TCP")
    mend = "`rerail record --watch`, without sudo" if why_not(environ, True) == "" else ""
    return Check("what goes past a recording", "limited", f"not noticed: {why}", mend)


def _probes() -> Check:
    from rerail.probe import paths

    found = paths()
    lacking = [place for place in (found.python, found.node_preload) if not Path(place).exists()]
    if lacking:
        return Check("probes", "missing", f"not there: {lacking[0]}", "install rerail again")
    return Check("probes", "ok", "Python and Node")
