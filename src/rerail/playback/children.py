"""Children of a replay: each is given what its recorded equal said and did, or runs for real.

Which probe started a child decides how it is given back: with its descriptors (`stand_in`) or by a
plan (`planned`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from rerail.playback.casting import Cast, Key, RecordedChild, key
from rerail.playback.effects import Effects
from rerail.playback.part import ChildTap, Part
from rerail.playback.planned import Planned
from rerail.playback.report import ChildUse
from rerail.playback.stand_in import StandIn
from rerail.proxy.said import (
    ANSWERED,
    Descriptors,
    Diverged,
    Ended,
    Ending,
    Failed,
    Passed,
    Runs,
    Signalled,
    Spoke,
    Started,
    StreamEnded,
    Told,
    understood,
)
from rerail.redact.apply import Redactor

__all__ = ["ChildTap", "Children"]


class Children:
    """All children of one replay."""

    def __init__(
        self,
        cast: Cast,
        redactor: Redactor,
        folder: str,
        turn: Callable[[], int],
        live: Callable[[], bool],
        tap: Callable[[Started], ChildTap] | None = None,
        effects: Effects | None = None,
    ) -> None:
        self._cast = cast
        self._turn = turn
        self._live = live
        self._redactor = redactor
        self._folder = folder
        self._tap = tap
        self._effects = effects
        self._children: dict[int, Part] = {}

    @property
    def cast(self) -> Cast:
        """Those that were recorded."""
        return self._cast

    @property
    def turn(self) -> Callable[[], int]:
        """How many model calls were made."""
        return self._turn

    @property
    def live(self) -> bool:
        """Whether the run has left its tape."""
        return self._live()

    def hear(self, said: dict[str, Any], descriptors: Sequence[int]) -> dict[str, Any] | None:
        """One line of a probe, and the descriptors that came with it; gives the answer, if any."""
        saying = understood(said, descriptors)
        if isinstance(saying, Started):
            child = self._children[saying.child] = self._part(saying, descriptors)
            return child.begin()
        known = self._children.get(saying.child) if saying else None
        match saying:
            case Runs() if known:
                known.runs(saying.pid)
            case Failed() if known:
                known.failed(saying.why)
            case Passed() if isinstance(known, Planned):
                known.passed(saying.stream, saying.data)
            case StreamEnded() if isinstance(known, Planned):
                known.stream_ended(saying.stream, saying.how)
            case Told() if isinstance(known, Planned):
                return known.told_otherwise(saying.told, told_all=saying.told_all)
            case Spoke() if isinstance(known, Planned):
                return known.spoken_to(saying.data)
            case Ending() if known:
                known.make_its_change()
                return ANSWERED
            case Diverged() if isinstance(known, Planned):
                known.diverged()
            case Signalled():
                if known:
                    known.signalled(saying.signal)
                    if known.dies_of(saying.signal):
                        known.make_its_change()
                return ANSWERED
            case Ended() if known:
                known.waited_for(saying.status)
        return None

    def _part(self, said: Started, descriptors: Sequence[int]) -> Part:
        tap = self._tap(said) if self._tap else None
        if said.plays:
            return Planned(self, said, self._key(said), tap)
        return StandIn(self, said, self._key(said), tap, Descriptors(said, descriptors))

    def moved(self) -> None:
        """A model call was made."""
        for child in self._children.values():
            child.stir()

    def close(self) -> None:
        """The command is over."""
        for child in self._children.values():
            child.close()

    @property
    def uses(self) -> list[ChildUse]:
        """What became of each child, in the order in which they were started."""
        return [child.use for child in self._children.values() if not child.within_unknown]

    def requests_given(self) -> set[int]:
        """The recorded requests of the children that were given back: nobody makes them again."""
        given = {use.recorded for use in self.uses if use.how == "given back"}
        return self.cast.requests_of(given)

    def otherwise(self, child: RecordedChild) -> str:
        """Why what a child said then need not be what it would say now, or nothing."""
        return self._effects.otherwise(child) if self._effects else ""

    def make_its_change(self, child: RecordedChild) -> None:
        """Make the change to files that a child made."""
        if self._effects is not None:
            self._effects.make(child)

    def describe(self, argv: list[str]) -> list[str]:
        """The arguments of a child, free of credentials."""
        return self._redactor.arguments(argv)

    def _key(self, said: Started) -> Key:
        argv = self.describe(said.argv)
        cwd = self._redactor.text(said.cwd)
        return key(said.shell, argv, cwd, said.streams, self._folder, self._inside(said))

    def _inside(self, said: Started) -> int:
        """The recorded child that it is part of; -1 for one that is not on the tape."""
        outer = self._children.get(said.inside)
        if outer is None:
            return 0
        return outer.recorded_number if outer.recorded_number is not None else -1
