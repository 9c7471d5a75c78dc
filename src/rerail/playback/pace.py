"""When a recorded piece is due: at once, or with the recorded pauses at some speed."""

import asyncio
from collections.abc import Callable
from typing import Final, Self

from rerail.errors import UsageProblem

SHORTEST_WAIT: Final = 0.0005
"""Seconds below which waiting would cost more than it gives."""


class Pace:
    """`slowness` times the recorded pauses: 0 is as fast as can be, 1 as recorded."""

    def __init__(self, slowness: float, name: str) -> None:
        self.name = name
        self._slowness = slowness

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `fast`, `recorded`, or a factor of speed: `2` is twice as fast as recorded."""
        if text == "fast":
            return cls(0.0, text)
        if text == "recorded":
            return cls(1.0, text)
        try:
            factor = float(text)
        except ValueError:
            factor = 0.0
        if not 0.001 <= factor <= 1e6:
            raise UsageProblem(
                f"`{text}` is no pace",
                hint="write --pace fast, --pace recorded, or a factor: --pace 2 is twice as fast",
            )
        return cls(1 / factor, text)

    def timer(self) -> "Timer":
        """A timer for one connection."""
        return Timer(self._slowness)


class Timer:
    """The pace of one connection: pauses count from the moment its request was complete."""

    def __init__(self, slowness: float) -> None:
        self._slowness = slowness
        self._recorded_ns = 0
        self._now = 0.0

    def begin(self, recorded_ns: int) -> None:
        """What was recorded at `recorded_ns` (since the run began) happens now."""
        if self._slowness:
            self._recorded_ns = recorded_ns
            self._now = asyncio.get_running_loop().time()

    def holds(self, at_ns: int, then: Callable[[], None]) -> bool:
        """Whether what came at `at_ns` is not due yet; `then` is called when it is."""
        if not self._slowness:
            return False
        loop = asyncio.get_running_loop()
        due = self._now + (at_ns - self._recorded_ns) / 1e9 * self._slowness
        if due - loop.time() < SHORTEST_WAIT:
            return False
        loop.call_at(due, then)
        return True
