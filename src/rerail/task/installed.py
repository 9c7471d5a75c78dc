"""Where a program is installed: what has to be readable for it to run. Reads links and first lines.

A prefix is the folder above `bin`: of the name that a program is called by, of what that leads to,
and of the interpreter that its first line names.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rerail.errors import RerailError
from rerail.launch.command import find_program

_FIRST_LINE: Final = 512
_HOPS: Final = 4
"""A script's interpreter may be a script: so far it is followed."""


def places_of(
    program: Path, environment: Mapping[str, str], *, but_not_above: Sequence[Path]
) -> list[Path]:
    """The files and prefixes of a program. A prefix that holds one of these places is left out."""
    found: list[Path] = []
    for file in _files(program.absolute(), environment):
        found.append(file)
        prefix = file.parent.parent
        if not any(prefix == place or prefix in place.parents for place in but_not_above):
            found.append(prefix)
    return list(dict.fromkeys(found))


def _files(program: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    for _ in range(_HOPS):
        yield program
        yield Path(os.path.realpath(program))
        interpreter = _interpreter(program, environment)
        if interpreter is None:
            return
        program = interpreter


def _interpreter(program: Path, environment: Mapping[str, str]) -> Path | None:
    """What a script's first line names; `env` looks for the next word on the path."""
    try:
        with program.open("rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return None
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if not words:
        return None
    if Path(words[0]).name != "env":
        return Path(words[0])
    named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
    try:
        return Path(find_program(named, environment, Path("/"))) if named else None
    except RerailError:
        return None
