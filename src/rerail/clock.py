"""The one place where rerail reads a clock; everything else is given the time."""

import sys
import time
from typing import Final, NamedTuple

# The clock that file times are taken from is CLOCK_REALTIME_COARSE (clock_gettime(2)). Elsewhere
# there is none such, and a file time may lie behind by the longest tick.
_FILE_CLOCK: Final = 5 if sys.platform == "linux" else 0
_TICK_NS: Final = 10_000_000


class Moment(NamedTuple):
    """One reading of both clocks.

    `at` is nanoseconds since the run began (monotonic, never goes back); `wall` is nanoseconds
    since 1970-01-01T00:00:00Z as the system's clock had it.
    """

    at: int
    wall: int


class RunClock:
    """A stopwatch that starts with the run; or goes on at `at` nanoseconds, with a run resumed."""

    __slots__ = ("_origin",)

    def __init__(self, *, at: int = 0) -> None:
        self._origin = time.monotonic_ns() - at

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


def file_time_ns() -> int:
    """The time that the system would now put on a file that is changed, or one shortly before."""
    return time.clock_gettime_ns(_FILE_CLOCK) if _FILE_CLOCK else time.time_ns() - _TICK_NS


def thread_ns() -> int:
    """Nanoseconds of processor time that this thread has had."""
    return time.thread_time_ns()
