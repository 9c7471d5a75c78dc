"""From a command's words to a program: the search of PATH, and what is said when there is none.

Knows no processes: it is asked before one is started.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from rerail.errors import CommandNotExecutable, CommandNotFound, RerailError, UsageProblem

DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
SHELL: Final = "/bin/sh"


def find_program(
    name: str,
    environment: Mapping[str, str],
    cwd: Path,
    *,
    found_at: Callable[[Path], Path] | None = None,
) -> str:
    """The path of the program that `name` means, searched as execvp(3) does it.

    A relative path stays relative, to `cwd`: a script is told the path it was started by.
    `found_at` says where we find what the command will see at a path.

    Raises `CommandNotFound` (status 127) or `CommandNotExecutable` (126).
    """
    if not name:
        raise UsageProblem("the command is empty", hint="write the command after `--`")
    denied = ""
    for program in _candidates(name, environment):
        place = found_at(cwd / program) if found_at else cwd / program
        kind = _kind(place)
        if kind == "file":
            if os.access(place, os.X_OK):
                return program
            denied = denied or program
        elif kind == "folder" and "/" in name:
            raise CommandNotExecutable(
                f"cannot run `{name}`: it is a folder", hint="name a program inside it"
            )
    if denied:
        raise CommandNotExecutable(
            f"cannot run `{name}`: `{denied}` is not executable",
            hint=f"make it executable with `chmod +x {denied}`, or name its interpreter first",
        )
    raise _not_found(name)


def _kind(place: Path) -> Literal["file", "folder", "neither"]:
    """What is at a path; a folder of PATH that may not be searched has nothing for us."""
    try:
        mode = place.stat().st_mode
    except OSError:
        return "neither"
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "neither"


def _candidates(name: str, environment: Mapping[str, str]) -> Iterator[str]:
    """An empty entry of PATH means the current folder (POSIX, Base Definitions 8.3)."""
    if "/" in name:
        yield name
        return
    for folder in environment.get("PATH", DEFAULT_PATH).split(":"):
        yield str(Path(folder) / name) if folder else f"./{name}"


def _not_found(name: str) -> CommandNotFound:
    if "/" in name:
        return CommandNotFound(f"there is no file `{name}`", hint="check the path of the command")
    if " " in name:
        return CommandNotFound(
            f"there is no program `{name}`",
            hint="give the command and its arguments as words of their own, without quotes",
        )
    if name.startswith("-"):
        return CommandNotFound(
            f"there is no program `{name}`", hint="options go before `--`, the command after it"
        )
    return CommandNotFound(
        f"there is no program `{name}` on PATH", hint="check its name, or give its path"
    )


def cannot_start(name: str, program: str, error: OSError) -> RerailError:
    """What to tell a person when the system refuses to start a program that is there."""
    if error.errno == errno.ENOENT:
        return CommandNotExecutable(
            f"cannot run `{name}`: the interpreter its first line names does not exist",
            hint=f"look at the first line of `{program}`",
        )
    if error.errno == errno.E2BIG:
        return CommandNotExecutable(
            f"cannot run `{name}`: its arguments and environment are too long",
            hint="pass long input in a file",
        )
    return CommandNotExecutable(
        f"cannot run `{name}`: {os.strerror(error.errno or 0)}",
        hint=f"`{program}` must be a program for this machine that you may execute",
    )


def through_shell(program: str, words: Sequence[str]) -> list[str]:
    """A script without `#!` is given to the shell, as execvp(3) does it."""
    return [SHELL, program, *words[1:]]
