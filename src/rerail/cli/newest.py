"""Which tape is meant where none is named: the one that was written last in `runs/`."""

import os
import re
from pathlib import Path
from typing import Final

from rerail.cli.screen.complaint import say_aside
from rerail.cli.screen.texts import one_line
from rerail.errors import UsageProblem

_NUMBER: Final = re.compile(r"[ersp]?[0-9]+")


def newest_tape() -> Path:
    """The tape that was written last in `runs/`."""
    tapes = list(Path("runs").glob("*.tape"))
    if not tapes:
        raise UsageProblem(
            "there is no tape in `runs/`",
            hint="name one, or make one: `rerail record -- COMMAND`",
        )
    return max(tapes, key=lambda tape: tape.stat().st_mtime_ns)


def tape_and_number(tape: Path | None, number: str | None) -> tuple[Path, str | None]:
    """`[TAPE] [NUMBER]`: a number alone is one on the newest tape, unless a file is called so."""
    if tape is None:
        return _said(newest_tape()), None
    if number is None and _NUMBER.fullmatch(str(tape)) and not os.path.lexists(tape):
        return _said(newest_tape()), str(tape)
    return tape, number


def tape_and_value(tape: Path, value: str | None) -> tuple[Path, str]:
    """`[TAPE] VALUE`: one word alone is the value, unless it is a file."""
    if value is not None:
        return tape, value
    if tape.suffix == ".tape" or os.path.lexists(tape):
        raise UsageProblem(
            f"there is no value to look for on {tape}", hint=f"`rerail why {tape} CUST-4471`"
        )
    return _said(newest_tape()), str(tape)


def _said(tape: Path) -> Path:
    say_aside(f"rerail: {one_line(str(tape))}")
    return tape
