"""One rewind: a replay up to a step, the live model from there, a fork's tape, and the account."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from rerail.capture.replayed import ReplayRecording
from rerail.clock import wall_ns
from rerail.errors import RerailError
from rerail.llm.bodies import read_bodies
from rerail.llm.numbered import model_calls
from rerail.llm.turns import Bodies, Turn, turns
from rerail.playback.session import ReplaySettings, replay
from rerail.rewind.edits import Edits
from rerail.rewind.files import FilesAtStep, PutInPlace, files_at
from rerail.rewind.moments import END, Moments
from rerail.rewind.onward import Allowed, Onward
from rerail.rewind.plan import planned, said_before
from rerail.rewind.report import Checked, RewindReport, make_report
from rerail.rewind.scores import Check, Checking, score_tape
from rerail.tape.exchange import Exchange, exchanges
from rerail.tape.reader import Tape
from rerail.tape.records import Edit
from rerail.tape.storage import keep_source
from rerail.workspace.kept import Kept

KEPT_NS: Final = 30 * 24 * 3600 * 10**9
"""For so long OpenAI keeps responses by which a request may be continued."""


@dataclass(frozen=True, slots=True)
class RewindSettings:
    """Where to go back to, what to say, and how far to go on.

    `step` is the first model call that is asked anew, `why` the rule that chose it. `replay` is the
    way there; its `live` is the way out. `output` is the fork's tape. `check` scores the files at
    the step and at the end. `edits` are what is changed in each request from there on, `went_on`
    the holds that a person goes past. `restore`: the recorded files are put in place there.
    """

    step: int
    replay: ReplaySettings
    output: Path
    why: str = ""
    edits: Sequence[Edit] = ()
    turns: int | None = None
    allowed: Sequence[Allowed] = field(default_factory=tuple)
    overwrite: bool = False
    check: Check | None = None
    checking: Checking = field(default_factory=Checking)
    went_on: Sequence[tuple[str, str, str]] = ()
    restore: bool = False


def rewind(tape: Tape, settings: RewindSettings) -> RewindReport:
    """Go back to a step (`rerail.rewind.choice` names one) and on from there."""
    keep_source(tape.path, settings.output)
    before = _before(tape, settings)
    same_agent = not settings.replay.command
    edits = planned(tape, settings.step, settings.edits, same_agent=same_agent)
    files = PutInPlace.of(tape, settings.step) if settings.restore else None
    onward = Onward(settings.step, edits, settings.turns, tuple(settings.allowed), files)
    recording = _Recording(tape, settings, edits)
    onward.used = recording.budget_used
    onward.expired = wall_ns() - tape.run.wall > KEPT_NS
    onward.history = partial(said_before, tape, settings.step)
    done = replay(tape, replace(settings.replay, onward=onward), record=recording.begin)
    kept = recording.begun.kept
    assert kept is not None
    with Tape.open(kept.tape) as fork:
        found = _Found(fork, onward.step) if onward.begun else None
        return make_report(
            done,
            onward,
            kept,
            found.taken() if found else [],
            chosen=settings.why,
            files=_files(tape, found, onward) if found else None,
            check=_checked(found, settings, before) if found else None,
        )


def _files(tape: Tape, found: "_Found", onward: Onward) -> FilesAtStep | None:
    if onward.files is not None:
        return onward.files.differed
    return files_at(onward.step, Moments.on(tape), found.moments)


def _before(tape: Tape, settings: RewindSettings) -> int | None:
    """The errors at the step. A check that cannot be run says so before anything is spent."""
    if settings.check is None:
        return None
    moments, step = Moments.on(tape), settings.step
    wanted = [step] if step in moments.at or not moments.at else []
    scores = score_tape(tape, moments, settings.check, settings.checking, wanted)
    return scores.at[step].errors if wanted else None


def _checked(found: "_Found", settings: RewindSettings, before: int | None) -> Checked | None:
    check = settings.check
    if check is None:
        return None
    after = None
    with suppress(RerailError):  # The run is over: what its check cannot say is no score.
        own = replace(settings.checking, trusted=True)
        after = score_tape(found.tape, found.moments, check, own, [END]).at[END].errors
    return Checked(
        command=check.command,
        count=check.count.pattern if check.count else None,
        errors_at_step=before,
        errors_at_end=after,
    )


class _Found:
    """What a fork that went live has on its tape."""

    def __init__(self, tape: Tape, step: int) -> None:
        self.tape = tape
        self._step = step
        self._exchanges = exchanges(tape)
        self._steps = model_calls(tape, self._exchanges).steps
        self.moments = Moments.of(Kept(tape), self._steps)

    def taken(self) -> list[Turn]:
        """The turns that went live."""
        unreadable: list[Exception] = []

        def bodies(one: Exchange) -> Bodies:
            return read_bodies(self.tape, one, damaged=unreadable.append)

        found = turns(self._exchanges, self._steps, bodies)
        return [turn for turn in found if turn.step >= self._step]


class _Recording:
    """The fork's tape, begun once it is known that the run may start."""

    def __init__(self, source: Tape, settings: RewindSettings, edits: Edits) -> None:
        self._source = source
        self._settings = settings
        self._edits = edits.records
        self.begun: ReplayRecording

    def budget_used(self, used: int, limit: int, spent: bool) -> None:
        self.begun.budget_used(used, limit, spent)

    def begin(self) -> ReplayRecording:
        environment: Mapping[str, str] = self._settings.replay.environment
        self.begun = ReplayRecording(
            self._settings.output,
            self._source,
            environment,
            overwrite=self._settings.overwrite,
            step=self._settings.step,
            edits=self._edits,
            turns=self._settings.turns or 0,
            went_on=self._settings.went_on,
        )
        return self.begun
