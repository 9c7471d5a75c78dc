"""How a verb that reads a tape says what of it could not be read."""

from collections.abc import Sequence
from typing import Final

from rerail.cli.screen.complaint import complain
from rerail.cli.screen.texts import quantity
from rerail.errors import RerailError
from rerail.tape.reader import Tape

_SHOWN: Final = 3


def tell_damage(tape: Tape, damage: Sequence[RerailError]) -> int:
    """Say on standard error what could not be read; returns the exit status that this makes."""
    if not damage:
        return 0
    lines = [error.what for error in damage[:_SHOWN]]
    more = len(damage) - _SHOWN
    if more > 0:
        lines.append(f"and {quantity(more, 'more place')}")
    for line in lines[:-1]:
        complain(line, None)
    complain(lines[-1], f"see all that is wrong with `rerail verify {tape.path}`")
    return 1
