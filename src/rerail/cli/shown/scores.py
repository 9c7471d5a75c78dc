"""Steps with what each cost, changed and scored: as a table and as JSON; checks with a progress."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from rerail.cli.screen.complaint import say_aside
from rerail.cli.screen.progress import progress
from rerail.cli.screen.texts import (
    duration,
    for_person,
    grouped,
    one_line,
    quantity,
    seconds,
    table,
)
from rerail.errors import UsageProblem
from rerail.llm.turns import Turn
from rerail.llm.view import ToolCall, Usage
from rerail.rewind.moments import END
from rerail.rewind.scores import SECONDS, Check, Checking, Score, Scores
from rerail.rewind.told import keeping
from rerail.workspace.changes import Changes

_HEADERS: Final = ("step", "start", "took", "in", "out", "calls", "files", "score", "")
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a check, as they were given."""

    check: str | None
    count: str | None = None
    jobs: int | None = None
    limit: float | None = None
    uncontained: bool = False
    trusted: bool = False

    def parsed(self) -> Check | None:
        """The check that was asked for, if any. Raises UsageProblem."""
        if self.check is not None:
            return Check.parse(self.check, self.count)
        alone = {
            "--count": self.count,
            "--check-limit": self.limit,
            "--uncontained": self.uncontained,
        }
        for option, given in alone.items():
            if given:
                raise UsageProblem(f"{option} goes with --check", hint="add --check COMMAND")
        return None


@contextmanager
def checking(asked: Asked) -> Iterator[Checking]:
    """How to run a check here; a person sees how far it is, until this is left."""
    from rerail.sandbox.choose import choose_sandbox

    with progress("checking") as told:
        yield Checking(
            os.environ,
            asked.jobs or 0,
            trusted=asked.trusted,
            seconds=asked.limit or SECONDS,
            choose=None if asked.uncontained else choose_sandbox,
            told=told,
        )


def print_scores(turns: Sequence[Turn], changed: Mapping[int, Changes], scores: Scores) -> None:
    """One row for each step, and one for the end of the run."""
    rows = [_row(turn, changed, scores) for turn in turns]
    if END in scores.at:
        cells = (files_text(changed.get(END)), score_text(scores, END), "")
        rows.append(("end", "", "", "", "", "", *cells))
    table(rows, headers=_HEADERS, right=(1, 2, 3, 4), yielding=(5, 6))


def tell_keeping(scores: Scores) -> None:
    """What kept the check in its copy, and what it tried in vain, as an aside."""
    for line in keeping(scores.containment, scores.refused):
        say_aside(f"rerail: {one_line(line)}")
    late = sum(score.timed_out for score in scores.at.values())
    if late:
        say_aside(f"rerail: {quantity(late, 'score')} came too late; --check-limit gives more time")


def _row(turn: Turn, changed: Mapping[int, Changes], scores: Scores) -> tuple[str, ...]:
    usage = turn.completion.usage if turn.completion else Usage()
    took = turn.took_ns
    span = duration if for_person() else seconds
    return (
        f"s{turn.step}",
        span(turn.asked_at),
        span(took) if took is not None else "",
        _count(usage.input_tokens),
        _count(usage.output_tokens),
        ", ".join(calls_of(turn)),
        files_text(changed.get(turn.step)),
        score_text(scores, turn.step),
        "best" if turn.step == scores.best else "",
    )


def _count(number: int | None) -> str:
    if number is None:
        return ""
    return grouped(number) if for_person() else str(number)


def calls_of(turn: Turn) -> list[str]:
    """The names of the tools that the model wanted called, each with how often."""
    message = turn.completion.message if turn.completion else None
    names = [part.name for part in message.parts if isinstance(part, ToolCall)] if message else []
    many = {name: names.count(name) for name in names}
    return [f"{name} ×{count}" if count > 1 else name for name, count in many.items()]


def files_text(found: Changes | None) -> str:
    """`~ api.ts, + types.ts`; of many the first ones, for a person."""
    if not found:
        return ""
    marked = sorted(_marked(found), key=_of_interest)
    shown = marked[:_NAMED] if for_person() else marked
    names = [f"{mark} {name}" for name, mark in shown]
    more = len(marked) - len(shown)
    return ", ".join([*names, *([f"{more} more"] if more else [])])


def _of_interest(named: tuple[str, str]) -> tuple[bool, str]:
    """What git keeps for itself comes last."""
    return named[0].startswith(".git/"), named[0]


def _marked(found: Changes) -> Iterator[tuple[str, str]]:
    """Names and marks; a folder is named only where it came or went."""
    yield from ((entry.name, "+") for entry in found.added)
    yield from ((entry.name, "-") for entry in found.removed)
    yield from ((now.name, "~") for _, now in found.changed if not now.is_folder)


def files_values(found: Changes | None) -> dict[str, list[str]] | None:
    """The same as JSON values; None where nobody knows."""
    if found is None:
        return None
    marked = sorted(_marked(found))
    words = {"added": "+", "changed": "~", "removed": "-"}
    return {word: [name for name, sign in marked if sign == mark] for word, mark in words.items()}


def score_text(scores: Scores, step: int) -> str:
    """`2`, or how a check without `--count` ended; why there is no score."""
    score = scores.at.get(step)
    if score is None:
        return "no snapshot"
    if score.errors is None:
        return f"? ({score.why})"
    if scores.check.count is not None:
        return str(score.errors)
    return "well" if score.status == 0 else f"status {score.status}"


def errors_text(errors: int | None) -> str:
    """`2 errors`, or that nobody knows."""
    return quantity(errors, "error") if errors is not None else "no score"


def score_values(score: Score | None) -> dict[str, Any] | None:
    """A score as JSON values."""
    if score is None:
        return None
    return {
        "status": score.status,
        "errors": score.errors,
        "why": score.why or None,
        "output": score.output,
        "refused": [
            {"what": one.what, "target": one.target, "program": one.program}
            for one in score.refused
        ],
    }
