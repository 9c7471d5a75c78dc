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
from rerail.rewind.against import Account, against
from rerail.rewind.edits import Edits
from rerail.rewind.files import FilesAtStep, PutInPlace, files_at
from rerail.rewind.moments import END, Moments
from rerail.rewind.onward import Allowed, Onward
from rerail.rewind.plan import planned, said_before
from rerail.rewind.report import Checked, RewindReport, Scored, make_report
from rerail.rewind.scores import Check, Checking, Score, Scores, score_tape
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
    the step and at both ends; `scores` are those known already. `edits` are what is changed
    in each request from there on, `went_on` the holds that a person goes past. `restore`: the
    recorded files are put in place there.
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
    scores: Scores | None = None
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
        if not onward.begun:
            return make_report(done, onward, kept, [], chosen=settings.why)
        source, found = _Found(tape), _Found(fork)
        after = _after(found, settings)
        taken = found.turns()
        return make_report(
            done,
            onward,
            kept,
            [turn for turn in taken if turn.step >= onward.step],
            chosen=settings.why,
            files=_files(source, found, onward),
            check=_checked(settings, before, after),
            against=against(
                Account.of(tape.ended, source.turns(), _errors(before)),
                Account.of(fork.ended, taken, _errors(after)),
                source.moments,
                found.moments,
            ),
        )


def _files(source: "_Found", fork: "_Found", onward: Onward) -> FilesAtStep | None:
    if onward.files is not None:
        return onward.files.differed
    return files_at(onward.step, source.moments, fork.moments)


def _before(tape: Tape, settings: RewindSettings) -> Scores | None:
    """Of the step and the end. A check that cannot be run says so before anything is spent."""
    if settings.check is None or settings.scores is not None:
        return settings.scores
    moments = Moments.on(tape)
    wanted = [at for at in (settings.step, END) if at in moments.at or not moments.at]
    return score_tape(tape, moments, settings.check, settings.checking, wanted)


def _after(found: "_Found", settings: RewindSettings) -> Scores | None:
    if settings.check is None:
        return None
    with suppress(RerailError):  # The run is over: what its check cannot say is no score.
        own = replace(settings.checking, trusted=True)
        return score_tape(found.tape, found.moments, settings.check, own, [END])
    return None


def _checked(
    settings: RewindSettings, before: Scores | None, after: Scores | None
) -> Checked | None:
    check = settings.check
    if check is None or before is None:
        return None
    last = after.at.get(END) if after else None
    kept = before.containment
    return Checked(
        command=check.command,
        count=check.count.pattern if check.count else None,
        errors_at_step=_errors(before, settings.step),
        errors_at_end=last.errors if last else None,
        why=last.why if last else "",
        level=kept.level if kept else "",
        scores=scored(before),
    )


def scored(scores: Scores) -> list[Scored]:
    """Scores as a report has them: by step, the end last."""
    return [
        Scored(step=None if step == END else step, errors=score.errors, why=score.why)
        for step, score in sorted(scores.at.items(), key=_end_last)
    ]


def _end_last(scored: tuple[int, Score]) -> tuple[bool, int]:
    return scored[0] == END, scored[0]


def _errors(scores: Scores | None, at: int = END) -> int | None:
    score = scores.at.get(at) if scores else None
    return score.errors if score else None


class _Found:
    """What one of the two tapes has on it."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._exchanges = exchanges(tape)
        self._steps = model_calls(tape, self._exchanges).steps
        self.moments = Moments.of(Kept(tape), self._steps)

    def turns(self) -> list[Turn]:
        """All turns, those that went live among them."""
        unreadable: list[Exception] = []

        def bodies(one: Exchange) -> Bodies:
            return read_bodies(self.tape, one, damaged=unreadable.append)

        return turns(self._exchanges, self._steps, bodies)


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
