"""Connections that passed the recorder by, from the lookout to the tape: each kind once.

Knows no kernel. How often a kind came is said at the end, where it came more than once.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rerail.capture.recorder import Recorder

if TYPE_CHECKING:
    from rerail.sandbox.passing import Passed

_WHAT: Final = {
    "passed by": "a connection passed the recorder by",
    "inside the run": "a connection inside the run was not recorded",
}


class PassedBy:
    """Takes what the lookout tells, in its thread, and writes it on the event loop's."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._told: deque[Passed] = deque()
        self._seen: dict[tuple[str, str], Passed] = {}
        self._numbers: dict[int, int] = {}
        self._soon: Callable[[Callable[[], None]], object] | None = None

    def tell(self, passed: "Passed") -> None:
        """Called by another thread, also before the loop runs and after it has ended."""
        self._told.append(passed)
        if self._soon is not None:
            with suppress(RuntimeError):  # The loop has ended: `stop` took what there was.
                self._soon(self._write_told)

    def name(self, *, pid: int, number: int) -> None:
        """What a process is called on the tape."""
        self._numbers[pid] = number

    def write_on(self, soon: Callable[[Callable[[], None]], object]) -> None:
        """From now on a loop does the writing; `soon` is its `call_soon_threadsafe`."""
        self._soon = soon
        self._write_told()

    def stop(self) -> "list[Passed]":
        """Write the counts; gives every kind of connection that passed by."""
        self._write_told()
        for passed in self._seen.values():
            if passed.count > 1:
                self._write(passed, f", {passed.count} times in all")
        return [passed for passed in self._seen.values() if passed.way == "passed by"]

    def _write_told(self) -> None:
        while self._told:
            passed = self._told.popleft()
            key = (passed.program, passed.target)
            if key not in self._seen:
                self._write(passed)
            self._seen[key] = passed

    def _write(self, passed: "Passed", more: str = "") -> None:
        detail = f"{passed.program} (pid {passed.pid}) to {passed.target}{more}"
        self._recorder.missing(_WHAT[passed.way], detail, self._numbers.get(passed.pid, 0))
