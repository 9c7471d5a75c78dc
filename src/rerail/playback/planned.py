"""A child of a replay whose probe plays what it said: it is given a plan, not its descriptors.

Node owns its children's pipes. So its probe is told what was recorded and when each piece is due,
and asks again where the child is told something else.
"""

import base64
import signal
from typing import Any, Final

from rerail.compare.dialogue import Dialogue
from rerail.playback.casting import Moment, RecordedChild
from rerail.playback.part import Part
from rerail.proxy.pipes import PipeEnd
from rerail.tape.records import StreamName
from rerail.wire.jsonrpc import Lines

SURVIVED: Final = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM, signal.SIGTERM,
    signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip
"""Signals that a program may go on through."""


def ignored(recorded: RecordedChild | None) -> list[int]:
    """Those that a stand-in must go on through: all but the one that ended the recorded child."""
    ended = recorded.ended if recorded else None
    return [] if ended is None else [int(sig) for sig in SURVIVED if sig != ended.signal]


class Planned(Part):
    """One child, and the plan that its probe was given."""

    def begin(self) -> dict[str, Any]:
        """`plain`: leave it alone; `real`: start it, and tell what passes; else the plan."""
        self.told += self.said.told
        self.told_all = self.said.told_all
        self._dialogue: Dialogue | None = None
        self._lines = Lines()
        if self.choose() and self._has_an_end():
            if self.said.waits:
                self.make_its_change()
            return {"plan": self._plan()}
        return {"plain": True} if self.tap is None else {"real": True}

    def _has_an_end(self) -> bool:
        """What is waited for must end: one that its parent gave up has no end of its own."""
        ended = self.recorded.ended if self.recorded else None
        if self.said.waits and (ended is None or ended.unknown):
            self.runs_since("how it ended is not on the tape")
            return False
        return True

    def told_otherwise(self, told: bytes, *, told_all: bool) -> dict[str, Any]:
        """Another plan, for what it has been told so far."""
        self.told[:], self.told_all = told, told_all
        if self.choose():
            return {"plan": self._plan()}
        return {"real": True}

    def spoken_to(self, data: bytes) -> dict[str, Any]:
        """What the recorded server says to what it is told now."""
        if self._dialogue is None:
            return {"said": []}
        lines = self.hear_dialogue(self._dialogue, self._lines.feed(data))
        return {"said": [_text(line) for line in lines]}

    def diverged(self) -> None:
        """It was told something else after something had been given."""
        self.given = True
        self.runs_since("it was told something that is not on the tape")

    def passed(self, name: StreamName, data: bytes) -> None:
        """What passes while it runs for real."""
        if self.tap is not None:
            self.tap.passed(name, data)

    def stream_ended(self, name: StreamName, how: PipeEnd) -> None:
        """The end of it."""
        if self.tap is not None:
            self.tap.stream_ended(name, how)

    def failed(self, why: str) -> None:
        """It could not be started."""
        if self.tap is not None:
            self.tap.failed(why)
        self.tap = None

    def waited_for(self, status: int) -> None:
        """The command knows how it ended; what was given at once is told of now."""
        if self.tap is None:
            return
        if self.said.waits and self.recorded is not None and not self.must_run:
            self._tell_of(self.recorded)
        self.tap.ended(status)

    def _tell_of(self, recorded: RecordedChild) -> None:
        assert self.tap is not None
        cast = self.company.cast
        if recorded.stdin is not None:
            self.tap.whole("stdin", cast.told(recorded))
        for output in recorded.outputs:
            pieces = [piece for piece in cast.pieces(recorded) if piece.stream == output.stream]
            self.tap.whole(output.stream, b"".join(piece.content for piece in pieces))

    def _plan(self) -> dict[str, Any]:
        recorded, cast = self.recorded, self.company.cast
        assert recorded is not None
        self._dialogue = cast.dialogue(recorded)
        told = cast.told(recorded)
        return {
            "pieces": [
                {"stream": piece.stream, "data": _text(piece.content)}
                | self._when(piece.after, piece.at)
                for piece in cast.pieces(recorded)
            ],
            "dialogue": self._dialogue is not None,
            "kept": [output.stream for output in recorded.outputs],
            "told": _text(told),
            "told_whole": recorded.stdin is None or recorded.stdin.ended == "complete",
            "tell": self.tap is not None,
            "ignore": ignored(recorded),
            "end": self._end(recorded),
        }

    def _end(self, recorded: RecordedChild) -> dict[str, Any] | None:
        ended = recorded.ended
        if ended is None or ended.unknown:
            return None
        moment = self.company.cast.moment(recorded, ended.at)
        return {
            "status": ended.status,
            "signal": ended.signal,
            "closed": recorded.was_closed_before_its_end,
            "sent": any(event.signal == ended.signal for event in recorded.signals),
        } | self._when(moment, ended.at)

    def _when(self, moment: Moment, at: int) -> dict[str, Any]:
        assert self.recorded is not None
        after_ms = max(at - self.recorded.started.at, 0) / 1e6
        return moment._asdict() | {"after_ms": after_ms}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
