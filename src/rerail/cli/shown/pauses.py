"""A durable script on the screen and as JSON: its pauses, what each asked and was answered.

Works from events alone, so that a torn tape shows what it has. Loads no state.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rerail.cli.facts.events import digest_text
from rerail.cli.screen.texts import (
    duration,
    for_person,
    one_line,
    quantity,
    say,
    seconds,
    size_text,
    styled,
    table,
)
from rerail.cli.shown.conversation import print_part
from rerail.cli.shown.outline import Outline
from rerail.errors import RerailError
from rerail.tape.reader import Tape
from rerail.tape.records import Body, Event
from rerail.tape.script_records import (
    ScriptAnswered,
    ScriptCalled,
    ScriptEnded,
    ScriptForked,
    ScriptPaused,
    ScriptStarted,
)

_HEADERS: Final = ("pause", "tool", "line", "start", "answer", "state", "took")
_NUMBERS: Final = (0, 2, 3, 5, 6)


@dataclass(slots=True)
class PauseShown:
    """A pause with what became of it."""

    paused: ScriptPaused
    answered: ScriptAnswered | None = None
    attempts: int = 0

    @property
    def outcome(self) -> str:
        """What it was answered with, in a word or two."""
        if self.answered is None:
            return "may have run" if self.attempts else "waiting"
        again = f", call {self.attempts}" if self.attempts > 1 else ""
        return f"{self.answered.raised or 'answered'}{again}"

    @property
    def took_ns(self) -> int | None:
        return self.answered.at - self.paused.at if self.answered else None


@dataclass(slots=True)
class ScriptShown:
    """A script's run, as far as its events can be read."""

    started: ScriptStarted
    forked: ScriptForked | None = None
    ended: ScriptEnded | None = None
    pauses: dict[int, PauseShown] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        match event:
            case ScriptForked():
                self.forked = event
            case ScriptPaused():
                self.pauses[event.pause] = PauseShown(event, attempts=int(event.calls))
            case ScriptCalled() if event.pause in self.pauses:
                self.pauses[event.pause].attempts = event.attempt
            case ScriptAnswered() if event.pause in self.pauses:
                self.pauses[event.pause].answered = event
            case ScriptEnded():
                self.ended = event

    @property
    def stands(self) -> str:
        """How it stands: ended, failed (why), or where it waits."""
        if self.ended is not None:
            last = self.ended.error.strip().rpartition("\n")[2]
            return f"failed: {last}" if self.ended.error else "ended well"
        for number, pause in reversed(self.pauses.items()):
            if pause.answered is None:
                may = ", which may have run" if pause.attempts else ""
                return f"waits at pause {number} for `{pause.paused.tool}`{may}"
        return "stopped between two pauses"


def script_of(outline: Outline) -> ScriptShown | None:
    """The script whose tape this is, if it is one's."""
    shown: ScriptShown | None = None
    for event in outline.script:
        if isinstance(event, ScriptStarted):
            shown = ScriptShown(event)
        elif shown is not None:
            shown.take(event)
    return shown


def script_lines(shown: ScriptShown) -> Iterator[tuple[str, str]]:
    """Lines for the top of a page."""
    pauses = quantity(len(shown.pauses), "pause")
    yield "script", f"{shown.started.name} on {shown.started.engine}, {pauses}; {shown.stands}"
    if shown.forked is not None:
        yield "forked", f"at pause {shown.forked.pause} of {shown.forked.run_id}"


def print_pauses(shown: ScriptShown, start: int) -> None:
    """One line for each pause; `start` is when the run began."""
    if not shown.pauses:
        return
    say()
    table(
        [_cells(pause, start) for pause in shown.pauses.values()],
        headers=_HEADERS,
        right=_NUMBERS,
        failed=[bool(pause.answered and pause.answered.raised) for pause in shown.pauses.values()],
    )


def _cells(pause: PauseShown, start: int) -> tuple[str, ...]:
    paused, took = pause.paused, pause.took_ns
    span = duration if for_person() else seconds
    size = paused.state.size
    return (
        str(paused.pause),
        paused.tool,
        str(paused.line),
        f"+{span(paused.at - start)}",
        pause.outcome,
        size_text(size) if for_person() else str(size),
        "" if took is None else span(took),
    )


class Told:
    """What was asked at each pause of a tape, and answered; damage is noted."""

    def __init__(self, tape: Tape, shown: ScriptShown, damage: list[RerailError]) -> None:
        self._tape = tape
        self._shown = shown
        self._damage = damage

    def print(self, start: int, only: int | None = None) -> None:
        """A heading for each pause, what was newly asked, and the answer; `only` one, whole."""
        before: dict[str, Any] = {}
        for number, pause in self._shown.pauses.items():
            paused, answered = pause.paused, pause.answered
            asked = self._json(paused.arguments)
            if only in (None, number):
                took = "" if pause.took_ns is None else f", took {duration(pause.took_ns)}"
                heading = (
                    f"pause {number}  {paused.tool}  line {paused.line}  +{_since(paused, start)}"
                )
                say(styled(one_line(f"{heading}, {pause.outcome}{took}"), bold=True))
                news = asked if only else _news(before.get(paused.tool), asked)
                print_part("asked", _text(news, whole=only is not None), whole=only is not None)
                if answered is not None:
                    said = self._json(answered.answer)
                    label = "raised" if answered.raised else "answered"
                    print_part(label, _text(said, whole=only is not None), whole=only is not None)
            before[paused.tool] = asked

    def values(self, start: int, only: int | None = None) -> list[dict[str, Any]]:
        """The same as JSON values."""
        return [
            pause_values(pause, start, self._json)
            for number, pause in self._shown.pauses.items()
            if only in (None, number)
        ]

    def _json(self, body: Body) -> Any:
        try:
            return json.loads(self._tape.blob(body.digest))
        except RerailError as error:
            self._damage.append(error)
        except (ValueError, RecursionError):
            pass
        return "(cannot be read)"


def pause_values(
    pause: PauseShown, start: int, read: Callable[[Body], Any] | None = None
) -> dict[str, Any]:
    """A pause as JSON values; with `read`, what was asked and answered too."""
    paused, answered = pause.paused, pause.answered
    told: dict[str, Any] = {
        "pause": paused.pause,
        "event": paused.seq,
        "token": paused.token,
        "tool": paused.tool,
        "line": paused.line,
        "start_ns": paused.at - start,
        "took_ns": pause.took_ns,
        "state": {"digest": digest_text(paused.state.digest), "size": paused.state.size},
        "attempts": pause.attempts,
        "answered": answered is not None,
        "raised": answered.raised if answered else None,
    }
    if read is not None:
        told["arguments"] = read(paused.arguments)
        told["answer"] = read(answered.answer) if answered else None
    return told


def _since(paused: ScriptPaused, start: int) -> str:
    return duration(paused.at - start)


def _news(before: Any, now: Any) -> Any:
    """Of arguments only what the call of the same tool before had not: a history's new entries."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return now
    return {name: _new(before.get(name), value) for name, value in now.items()}


def _new(before: Any, now: Any) -> Any:
    if isinstance(before, list) and isinstance(now, list) and before:
        common = len(before)
        if now[:common] == before:
            return [f"… {quantity(common, 'entry', 'entries')} as before", *now[common:]]
    return now


def _text(value: Any, *, whole: bool) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if whole else None)
