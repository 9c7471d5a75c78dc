"""Numbers the model calls of a replay: `s1`, `s2` … in the order in which they come. Pure."""

from rerail.compare.canon import Request


class StepCounter:
    """A matched call keeps its number through its recorded attempts; a refused one while it is
    asked again with the same body."""

    __slots__ = ("_count", "_last_missed", "_numbers")

    def __init__(self) -> None:
        self._count = 0
        self._numbers: dict[int, int] = {}
        self._last_missed: tuple[str, bytes, int] | None = None

    def matched(self, recorded_step: int) -> int:
        """The number of a call that is a recorded one."""
        if recorded_step not in self._numbers:
            self._count += 1
            self._numbers[recorded_step] = self._count
        return self._numbers[recorded_step]

    def missed(self, request: Request) -> int:
        """The number of a call that is not on the tape."""
        last = self._last_missed
        if last is None or last[:2] != (request.url, request.body_digest):
            self._count += 1
            last = (request.url, request.body_digest, self._count)
            self._last_missed = last
        return last[2]
