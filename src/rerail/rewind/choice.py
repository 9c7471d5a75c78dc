"""Which step a rewind goes back to: a person's own choice, the last one, or the best by a rule."""

from dataclasses import dataclass, field
from typing import Literal

from rerail.errors import NotOnTape, UsageProblem, UserError
from rerail.llm.numbered import model_calls
from rerail.rewind.moments import END, Moments
from rerail.rewind.scores import Check, Checking, Scores, score_tape
from rerail.tape.exchange import exchanges
from rerail.tape.reader import Tape

Target = int | Literal["best", "last"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A step, and why it was chosen; nothing where a person named it.

    `scores` are those of all steps and of the end, where a check chose.
    """

    step: int
    why: str = ""
    scores: Scores | None = field(default=None, compare=False)


def read_target(text: str) -> Target:
    """`4`, `s4`, `best` or `last`. Raises UsageProblem."""
    if text == "best":
        return "best"
    if text == "last":
        return "last"
    digits = text.removeprefix("s")
    if not digits.isdigit() or int(digits) == 0:
        raise UsageProblem(
            f"`{text}` is no step", hint="write --to 4, --to s4, --to best or --to last"
        )
    return int(digits)


def choose(tape: Tape, to: Target, check: Check | None, how: Checking) -> Chosen:
    """The step that is meant: `best` is the last one with the fewest errors.

    Raises:
        NotOnTape: The tape has no such step.
        UserError: `best` without a check, or where it scores no step.
    """
    found = model_calls(tape, exchanges(tape)).steps
    last = max((step for attempt in found.values() for step in attempt.steps), default=0)
    if not last:
        raise NotOnTape(
            "there is no model call on this tape",
            hint=f"`rerail show {tape.path}` shows what it holds",
        )
    if to == "last":
        return Chosen(last)
    if to == "best":
        return _best(tape, check, how)
    if to > last:
        raise NotOnTape(f"there is no step s{to} on this tape", hint=f"it has steps s1 to s{last}")
    return Chosen(to)


def _best(tape: Tape, check: Check | None, how: Checking) -> Chosen:
    if check is None:
        raise UsageProblem(
            "`--to best` needs a check that says how good a step is",
            hint="add --check COMMAND, such as --check 'npx tsc --noEmit' --count 'error TS'",
        )
    scores = score_tape(tape, Moments.on(tape), check, how)
    if scores.best is None:
        late = any(score.timed_out for score in scores.at.values())
        why = next((score.why for score in scores.at.values() if score.why), "")
        raise UserError(
            f"no step has a score: {why}",
            hint="give it more time with --check-limit SECONDS"
            if late
            else f"`rerail steps {tape.path} --check …` shows each of them",
        )
    errors, known = scores.at[scores.best].errors, len(scores.at.keys() - {END})
    why = f"the last of {known} steps with the fewest errors ({errors})"
    return Chosen(scores.best, why, scores)
