"""Where a checker's program is on this machine. Looks only; nothing is ever fetched.

In this order: a path that was given, the environment's variable, the project's own packages, and
for Python's checker the environment that rerail itself stands in.
"""

import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from rerail.errors import ToolMissing, UserError
from rerail.launch.errand import Errand, run_errand

TYPESCRIPT_VARIABLE: Final = "RERAIL_TYPESCRIPT"
TY_VARIABLE: Final = "RERAIL_TY"
_MACHINES: Final = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_SECONDS: Final = 20.0
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+\S*")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was found, and the version that it tells."""

    path: Path
    version: str


def find_typescript(
    given: Path | None = None, *, environment: Mapping[str, str], beside: Path
) -> Program:
    """The native TypeScript compiler: a file, or a folder with `node_modules` in it.

    Without one given, it is looked for in `node_modules` of `beside` and of the folders above.
    Raises `ToolMissing`.
    """
    named = given or _named(environment, TYPESCRIPT_VARIABLE)
    places = [named] if named else [beside.resolve(), *beside.resolve().parents]
    for place in places:
        for candidate in _typescripts(place):
            if candidate.is_file():
                return Program(candidate, _version(candidate))
    raise ToolMissing(
        f"there is no native TypeScript compiler {_searched(named, beside)}",
        hint=f"`npm install typescript@7` there, or name its program in {TYPESCRIPT_VARIABLE}",
    )


def find_ty(given: Path | None = None, *, environment: Mapping[str, str]) -> Program:
    """The Python type checker ty. Raises `ToolMissing`."""
    named = given or _named(environment, TY_VARIABLE)
    beside = Path(sys.executable).parent / "ty"
    on_path = shutil.which("ty", path=environment.get("PATH", ""))
    for candidate in [named] if named else [beside, *([Path(on_path)] if on_path else [])]:
        if candidate.is_file():
            return Program(candidate, _version(candidate))
    raise ToolMissing(
        f"there is no ty {f'at {named}' if named else 'on PATH'}",
        hint=f"`pip install ty`, or name its program in {TY_VARIABLE}",
    )


def last_words(said: Errand) -> str:
    """The end of what a program said that gave no answer."""
    said_last = (said.errors or said.output)[-300:].decode(errors="replace")
    return said_last.strip() or "none"


def _named(environment: Mapping[str, str], variable: str) -> Path | None:
    value = environment.get(variable)
    return Path(value).absolute() if value else None


def _searched(named: Path | None, beside: Path) -> str:
    return f"at {named}" if named else f"in node_modules of {beside} or above"


def _typescripts(place: Path) -> Iterator[Path]:
    """npm puts the native part beside the package, pnpm beside the package's real place."""
    yield place
    machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
    native = Path("@typescript", f"typescript-{sys.platform}-{machine}", "lib", "tsc")
    modules = place / "node_modules"
    yield modules / native
    yield (modules / "typescript").resolve().parent / native


@cache
def _version(program: Path) -> str:
    try:
        said = run_errand(
            [str(program), "--version"], cwd=Path("/"), environment={}, seconds=_SECONDS
        )
    except UserError as error:
        raise ToolMissing(f"{program} cannot be run: {error.what}", hint=error.hint) from error
    found = _VERSION.search(said.output.decode(errors="replace"))
    if not said.well or found is None:
        raise ToolMissing(
            f"{program} does not tell its version", hint="name the native program, not a script"
        )
    return found.group()
