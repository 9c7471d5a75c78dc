"""How much a script may take: time, memory, depth, pauses. Holds numbers, no behaviour."""

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

_SECOND_MS = 1000


class Limits(Struct, frozen=True, kw_only=True):
    """Each has a bound: a script that loops or grows is stopped with an error of its own.

    `turn_ms` is the time (milliseconds of execution) from one pause to the next, `memory` bytes of
    the script's heap, `depth` calls within calls, `pauses` the calls of tools in one run, `asked`
    the readings of the clock and the draws of entropy.
    """

    turn_ms: int = 10_000
    memory: int = 256 << 20
    depth: int = 400
    pauses: int = 10_000
    asked: int = 100_000

    def as_recorded(self) -> dict[str, int]:
        """As they stand on the tape."""
        return asdict(self)

    @classmethod
    def recorded(cls, limits: dict[str, int]) -> "Limits":
        """Those of a tape; what it does not name is as it is by default."""
        known = {name: limits[name] for name in cls.__struct_fields__ if name in limits}
        return cls(**known)

    def for_engine(self) -> dict[str, Any]:
        """As the engine takes them. It counts pauses anew after each load: the run counts them."""
        return {
            "max_turn_duration_secs": self.turn_ms / _SECOND_MS,
            "max_memory": self.memory,
            "max_recursion_depth": self.depth,
            "max_suspensions": self.pauses + self.asked + self.depth + _SECOND_MS,
        }
