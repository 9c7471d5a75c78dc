"""How much a script may take: time, memory, depth, pauses. Numbers and their bounds."""

from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import asdict

from rerail.errors import UsageProblem

_SECOND_MS: Final = 1000
_ROOM: Final = 10_000
"""Pauses of the engine that are nobody's call: a name that is looked up, a file refused."""

LARGEST: Final = {
    "turn_ms": 600_000,
    "memory": 1 << 30,
    "depth": 1000,
    "pauses": 1_000_000,
    "asked": 10_000_000,
}
"""What nobody may go beyond: a stranger's tape names limits too."""


class Limits(Struct, frozen=True, kw_only=True):
    """Each has a bound: a script that loops or grows is stopped with an error of its own.

    `turn_ms` is the time (milliseconds of execution) from one pause to the next, `memory` bytes of
    the script's heap, `depth` calls within calls, `pauses` the calls of tools in one run, `asked`
    the readings of the clock and the draws of entropy. Raises UsageProblem beyond `LARGEST`.
    """

    turn_ms: int = 10_000
    memory: int = 256 << 20
    depth: int = 400
    pauses: int = 10_000
    asked: int = 100_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0 < value <= LARGEST[name]:
                hint = f"it goes from 1 to {LARGEST[name]}"
                raise UsageProblem(f"the limit `{name}` cannot be {value}", hint=hint)

    def as_recorded(self) -> dict[str, int]:
        """As they stand on the tape."""
        return asdict(self)

    @classmethod
    def recorded(cls, limits: dict[str, int]) -> Self:
        """Those of a tape, no larger than anybody's; one that it does not name is the default."""
        known = {name: limits[name] for name in cls.__struct_fields__ if name in limits}
        return cls(**{name: min(max(it, 1), LARGEST[name]) for name, it in known.items()})

    def for_engine(self) -> dict[str, Any]:
        """As the engine takes them. It counts pauses anew after each load: the run counts them."""
        return {
            "max_turn_duration_secs": self.turn_ms / _SECOND_MS,
            "max_memory": self.memory,
            "max_recursion_depth": self.depth,
            "max_suspensions": self.pauses + self.asked + _ROOM,
        }
