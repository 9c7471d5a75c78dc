"""The one place where rerail reads a clock; everything else is given the time."""

import time
from typing import NamedTuple


class Moment(NamedTuple):
    """One reading of both clocks.

    `at` is nanoseconds since the run began (monotonic, never goes back); `wall` is nanoseconds
    since 1970-01-01T00:00:00Z as the system's clock had it.
    """

    at: int
    wall: int


class RunClock:
    """A stopwatch that starts with the run."""

    __slots__ = ("_origin",)

    def __init__(self) -> None:
        self._origin = time.monotonic_ns()

    def now(self) -> Moment:
        """Read both clocks."""
        return Moment(time.monotonic_ns() - self._origin, time.time_ns())

    def at(self) -> int:
        """Nanoseconds since the run began."""
        return time.monotonic_ns() - self._origin


def monotonic_ns() -> int:
    """Nanoseconds of CLOCK_MONOTONIC, which every process of this machine reads alike."""
    return time.monotonic_ns()


def wall_ns() -> int:
    """Nanoseconds since 1970-01-01T00:00:00Z."""
    return time.time_ns()
