"""Connections that passed the recorder by, from the lookout to the tape: each kind once.

Knows no kernel. How often a kind came is said at the end, where it came more than once.
"""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from rerail.capture.recorder import Recorder
from rerail.launch.family import descendants_of

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

    def told_by_probe(self, program: str, pid: int, host: str, port: int) -> None:
        """Called on the loop, where no lookout is."""
        from rerail.sandbox.passing import Passed, named_address, way_of

        address = named_address(host, port)
        way = way_of(pid, address, partial(descendants_of, os.getpid())) if address else "passed by"
        if way is not None:
            self._told.append(Passed(pid, program, str(address or f"{host}:{port}"), way))
            self._write_told()

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
            before = self._seen.get(key)
            if before is None:
                self._write(passed)
            elif passed.count <= before.count:  # each process counts for itself
                passed = replace(passed, count=before.count + 1)
            self._seen[key] = passed

    def _write(self, passed: "Passed", more: str = "") -> None:
        detail = f"{passed.program} (pid {passed.pid}) to {passed.target}{more}"
        self._recorder.missing(_WHAT[passed.way], detail, self._numbers.get(passed.pid, 0))
