"""One child of a replay: which recorded one it is taken for, and what becomes of it.

Knows neither how it is started nor how it is given back: `stand_in` and `planned` do.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from rerail.compare.dialogue import Dialogue
from rerail.playback.casting import Cast, Key, RecordedChild
from rerail.playback.report import ChildUse
from rerail.proxy.pipes import PipeEnd
from rerail.proxy.said import OUTPUTS, Started
from rerail.tape.records import StreamName


class ChildTap(Protocol):
    """Who keeps a child of a replay, where the replay is itself recorded."""

    def runs(self, pid: int) -> None:
        """It was started."""

    def failed(self, why: str) -> None:
        """It could not be."""

    def passed(self, name: StreamName, piece: bytes) -> None:
        """A piece of a stream."""

    def stream_ended(self, name: StreamName, how: PipeEnd) -> None:
        """The end of a stream."""

    def whole(self, name: StreamName, content: bytes) -> None:
        """All of a stream."""

    def signalled(self, number: int) -> None:
        """The command sends it a signal."""

    def ended(self, status: int) -> None:
        """How it ended; negative for a signal."""

    def outlived(self) -> None:
        """It went on after the run."""


class Company(Protocol):
    """The children of one replay, as one of them sees it."""

    @property
    def cast(self) -> Cast:
        """Those that were recorded."""

    @property
    def turn(self) -> Callable[[], int]:
        """How many model calls were made."""

    @property
    def live(self) -> bool:
        """Whether the run has left its tape."""

    def otherwise(self, child: RecordedChild) -> str:
        """Why what a child said then need not be what it would say now, or nothing."""

    def make_its_change(self, child: RecordedChild) -> None:
        """Make the change to files that a child made."""

    def describe(self, argv: list[str]) -> list[str]:
        """Arguments, free of credentials."""


class Part(ABC):
    """What all children have in common. `told` is what it has been told, `told_all` that is all."""

    def __init__(
        self, company: Company, said: Started, known_by: Key, tap: ChildTap | None
    ) -> None:
        self.company = company
        self.said = said
        self.tap = tap
        self.told = bytearray()
        self.told_all = False
        self.given = False
        self.recorded: RecordedChild | None = None
        self._key = known_by
        self._why = ""

    # What a kind of child does in its own way.

    @abstractmethod
    def begin(self) -> dict[str, Any]:
        """Find out who it is; gives what its probe is to do."""

    @abstractmethod
    def waited_for(self, status: int) -> None:
        """The command knows how it ended."""

    @abstractmethod
    def failed(self, why: str) -> None:
        """It could not be started."""

    def stir(self) -> None:  # noqa: B027 - who has a plan waits for nothing
        """Something that it may wait for has come."""

    def close(self) -> None:  # noqa: B027 - who has a plan holds nothing open
        """The command is over."""

    # Who it is.

    def choose(self) -> bool:
        """Take the earliest recorded child that was told what this one has been told so far.

        What was taken before is put back. False where it has to run, and why is known then.
        """
        cast, before = self.company.cast, self.recorded
        # What was recorded after the place where a run goes on live is another run's.
        likely = [] if self.company.live else cast.likely(self._key)
        found = next((child for child in likely if self.fits(child)), None)
        if found is not None:
            cast.take(self._key, found)
        if before is not None:
            cast.put_back(self._key, before)
        self.recorded = found
        if found is None:
            self._why = self._why_not(told_otherwise=bool(likely) or before is not None)
        else:
            self._why = found.not_given_back or self.company.otherwise(found)
        return not self._why

    def _why_not(self, *, told_otherwise: bool) -> str:
        if self.company.live:
            return "the run has gone live"
        if told_otherwise:
            return "it was told something else"
        return self.company.cast.why_not(self._key)

    def fits(self, child: RecordedChild) -> bool:
        """Whether a recorded child was told what this one has been told so far."""
        if child.messages:
            return True
        recorded, told = self.company.cast.told(child), bytes(self.told)
        if child.stdin is not None and child.stdin.ended != "complete":
            return recorded.startswith(told) or told.startswith(recorded)
        return recorded == told if self.told_all else recorded.startswith(told)

    def hear_dialogue(self, dialogue: Dialogue, lines: Iterable[bytes]) -> list[bytes]:
        """What a recorded server says to these lines; what it was never asked is a divergence."""
        said: list[bytes] = []
        for line in lines:
            self.given = True
            heard = dialogue.hear(line)
            said += heard.lines
            for what in heard.unknown:
                self.runs_since(f"`{what}` is not on the tape")
        return said

    def dies_of(self, number: int) -> bool:
        """Whether a signal ends it, as it did then."""
        ended = self.recorded.ended if self.recorded else None
        return ended is not None and ended.signal == number

    def make_its_change(self) -> None:
        """Before it ends, the files are as it left them."""
        if self.recorded is not None and not self.must_run:
            self.company.make_its_change(self.recorded)

    def runs_since(self, why: str) -> None:
        """It runs for real, or diverged."""
        self._why = why

    @property
    def must_run(self) -> bool:
        """Whether it is not given back."""
        return bool(self._why)

    @property
    def recorded_number(self) -> int | None:
        """The recorded child that it is taken for."""
        return self.recorded.number if self.recorded else None

    @property
    def within_unknown(self) -> bool:
        """Whether it is a part of a child that is not on the tape, as all of that is."""
        return self._key[0] < 0

    @property
    def use(self) -> ChildUse:
        """What became of it."""
        how = "diverged" if self._why and self.given else "run" if self._why else "given back"
        return ChildUse(
            process=self.said.child,
            recorded=self.recorded_number,
            argv=self.company.describe(self.said.argv),
            how=how,  # type: ignore[arg-type]  # one of the three
            why=self._why,
            unsaid=[] if self._why else self._unsaid,
        )

    @property
    def _unsaid(self) -> list[str]:
        """Outputs that were the agent's own when it was recorded."""
        streams = self.recorded.started.streams if self.recorded else {}
        return [name for name in OUTPUTS if streams.get(name) == "inherited"]

    def runs(self, pid: int) -> None:
        """It was started."""
        if self.tap is not None:
            self.tap.runs(pid)

    def signalled(self, number: int) -> None:
        """The command sends it a signal."""
        if self.tap is not None:
            self.tap.signalled(number)
