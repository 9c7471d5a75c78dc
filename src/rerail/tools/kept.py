"""A kept tool: started once, given contents, asked many times. Open to others: subclass it.

Three promises hold for every kept tool: what it answers is about exactly the contents given; what
it cannot do is an error and never an empty list; and `cold` gives the verdict that counts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from threading import Lock
from types import TracebackType
from typing import Final, Self, TypeVar

from rerail.clock import monotonic_ns
from rerail.errors import ToolFailed
from rerail.tools.diagnostics import Both, Diagnostic, Reading, tidied

Files = Mapping[str, str]
"""Paths, relative and with `/`, and their contents."""

T = TypeVar("T")
SECONDS: Final = 30.0


class Ended(Exception):
    """The tool's program ended, or is out of step with us: it is to be started anew."""


class KeptTool(ABC):
    """A checker that stays. `with` starts and stops it; one caller at a time is served."""

    name: str

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._lock = Lock()
        self._running = False

    # What a tool must be able to do.

    @property
    @abstractmethod
    def version(self) -> str:
        """The version of the program, as it tells it itself."""

    @abstractmethod
    def _begin(self) -> None:
        """Start the program. Raises `ToolFailed`, `Ended`."""

    @abstractmethod
    def _ask(self, files: Files, until_ns: int) -> list[Diagnostic]:
        """What the program says of these files. Raises `ToolFailed`, `Ended`."""

    @abstractmethod
    def _end(self) -> None:
        """Stop the program, whatever state it is in."""

    @abstractmethod
    def _run_cold(self, files: Files) -> list[Diagnostic]:
        """What a program started for this alone says, in a fresh folder. Raises `ToolFailed`."""

    # What is the same for all.

    def start(self) -> Self:
        """Start it now; `check` would, too. Raises `ToolFailed`."""
        with self._lock:
            if not self._running:
                self._start()
        return self

    def check(self, files: Files) -> Reading:
        """Ask the kept program. One that has ended is started once more, then it is an error.

        Raises `ToolFailed`; after it, the next check starts the program anew.
        """
        with self._lock:
            begun = monotonic_ns()
            until = begun + int(self.seconds * 1e9)
            try:
                found = self._repeated(lambda: self._ask(files, until))
            except BaseException:
                self._stop()
                raise
            took = monotonic_ns() - begun
        return Reading(self.name, self.version, "kept", tidied(found), took)

    def cold(self, files: Files) -> Reading:
        """The verdict that counts: a program started for these files alone. Raises `ToolFailed`."""
        begun = monotonic_ns()
        found = self._run_cold(files)
        return Reading(self.name, self.version, "cold", tidied(found), monotonic_ns() - begun)

    def both(self, files: Files) -> Both:
        """Both answers, to be kept side by side."""
        return Both(self.check(files), self.cold(files))

    def stop(self) -> None:
        """Stop it; it may be started again."""
        with self._lock:
            self._stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _repeated(self, ask: Callable[[], T]) -> T:
        """Ask, and once more of a program started anew where it ended."""
        try:
            if not self._running:
                self._start()
            return ask()
        except Ended:
            self._stop()
        try:
            self._start()
            return ask()
        except Ended as ended:
            raise ToolFailed(
                f"the kept {self.name} ended twice over the same files: {ended}",
                hint="run it once by hand on these files to see why",
            ) from ended

    def _start(self) -> None:
        self._running = True
        try:
            self._begin()
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        if self._running:
            self._running = False
            self._end()
