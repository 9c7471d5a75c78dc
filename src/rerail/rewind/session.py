"""One rewind: a replay up to a step, the live model from there, a fork's tape, and the account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rerail.capture.replayed import ReplayRecording
from rerail.errors import NotOnTape
from rerail.llm.bodies import read_bodies
from rerail.llm.numbered import model_calls
from rerail.llm.turns import Turn, turns
from rerail.playback.session import ReplaySettings, replay
from rerail.rewind.files import files_at
from rerail.rewind.moments import Moments
from rerail.rewind.onward import Allowed, Hinting, Onward
from rerail.rewind.report import RewindReport, make_report
from rerail.tape.exchange import exchanges
from rerail.tape.reader import Tape


@dataclass(frozen=True, slots=True)
class RewindSettings:
    """Where to go back to, what to say, and how far to go on.

    `step` is the first model call that is asked anew, 0 for the last one. `replay` is the way
    there; its `live` is the way out. `output` is the fork's tape.
    """

    step: int
    replay: ReplaySettings
    output: Path
    hint: str = ""
    turns: int | None = None
    allowed: Sequence[Allowed] = field(default_factory=tuple)
    overwrite: bool = False


def last_step(tape: Tape) -> int:
    """The number of a tape's last model call; 0 where there is none."""
    found = model_calls(tape, exchanges(tape)).steps.values()
    return max((step for attempt in found for step in attempt.steps), default=0)


def rewind(tape: Tape, settings: RewindSettings) -> RewindReport:
    """Go back to a step and on from there.

    Raises:
        NotOnTape: The tape has no such step.
    """
    last = last_step(tape)
    step = settings.step or last
    if not 0 < step <= last:
        if not last:
            raise NotOnTape(
                "there is no model call on this tape", hint="`rerail show TAPE` shows what it holds"
            )
        raise NotOnTape(
            f"there is no step s{step} on this tape", hint=f"it has steps s1 to s{last}"
        )
    hinting = Hinting(settings.hint) if settings.hint else None
    onward = Onward(step, hinting, settings.turns, tuple(settings.allowed))
    recording = _Recording(tape, settings, step)
    done = replay(tape, replace(settings.replay, onward=onward), record=recording.begin)
    kept = recording.begun.kept
    assert kept is not None
    with Tape.open(kept.tape) as fork:
        taken = [turn for turn in _turns(fork) if turn.step >= step] if onward.begun else []
        files = files_at(step, Moments.on(tape), Moments.on(fork)) if onward.begun else None
    return make_report(done, onward, kept, taken, hint=settings.hint, files=files)


class _Recording:
    """The fork's tape, begun once it is known that the run may start."""

    def __init__(self, source: Tape, settings: RewindSettings, step: int) -> None:
        self._source = source
        self._settings = settings
        self._step = step
        self.begun: ReplayRecording

    def begin(self) -> ReplayRecording:
        environment: Mapping[str, str] = self._settings.replay.environment
        self.begun = ReplayRecording(
            self._settings.output,
            self._source,
            environment,
            overwrite=self._settings.overwrite,
            step=self._step,
        )
        return self.begun


def _turns(tape: Tape) -> list[Turn]:
    found = exchanges(tape)
    unreadable: list[Exception] = []
    attempts = model_calls(tape, found).steps
    return turns(found, attempts, lambda one: read_bodies(tape, one, damaged=unreadable.append))
