"""`rerail steps`: the run as the conversation it was, step by step; with a check, its scores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rerail.cli.newest import tape_and_number
from rerail.cli.options import TAPE, check_options, trust_option
from rerail.cli.screen.texts import json_text, say
from rerail.cli.shown.conversation import print_part, print_turn, read_turns, turn_values
from rerail.cli.shown.damage import tell_damage
from rerail.cli.shown.numbers import Number, exchanges_of, read_number
from rerail.cli.shown.outline import Outline, read_outline
from rerail.cli.shown.pauses import ScriptShown, Told, script_of
from rerail.cli.shown.scores import (
    Asked,
    checking,
    errors_text,
    files_text,
    files_values,
    print_scores,
    score_values,
    tell_keeping,
)
from rerail.errors import NotOnTape, UsageProblem
from rerail.rewind.moments import END, Moments
from rerail.rewind.scores import Scores, score_tape
from rerail.tape.reader import Tape
from rerail.workspace.kept import Kept


@click.command()
@click.argument("tape", required=False, type=TAPE)
@click.argument("step", required=False)
@check_options
@trust_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document, every text whole.")
def steps(
    tape: Path | None,
    step: str | None,
    check: str | None,
    count: str | None,
    jobs: int | None,
    limit: float | None,
    uncontained: bool,
    trusted: bool,
    as_json: bool,
) -> int:
    """Show the conversation of TAPE: what each model call was newly told, and what it answered.

    One line a message; with STEP (4 or s4) that one alone, every text whole. Without TAPE, of the
    newest in runs/. This is a reading of the recorded bodies; `rerail show TAPE s4` shows them as
    they are. The steps of a durable script are its pauses. With --check, one line a step: time,
    tokens, tools called, files changed, and the score that COMMAND gives its files.
    """
    tape, step = tape_and_number(tape, step)
    wanted = _step(step) if step is not None else None
    asked = Asked(check, count, jobs, limit, uncontained=uncontained, trusted=trusted)
    asked.parsed()
    with Tape.open(tape) as opened:
        outline = read_outline(opened)
        script = script_of(outline)
        if script is not None and not outline.steps:
            return _script(opened, outline, script, wanted, as_json=as_json)
        if wanted is not None:
            exchanges_of(outline, wanted)
        page = _Page(opened, outline, wanted, asked)
        if as_json:
            say(json_text(page.values()))
        else:
            page.print()
        return tell_damage(opened, [*outline.damage, *page.moments.damage])


def _script(
    tape: Tape, outline: Outline, script: ScriptShown, wanted: Number | None, *, as_json: bool
) -> int:
    """The steps of a durable script are its pauses."""
    only = wanted.value if wanted else None
    if only is not None and only not in script.pauses:
        numbers = f"1 to {max(script.pauses)}" if script.pauses else "none"
        raise NotOnTape(f"there is no pause {only} on this tape", hint=f"it has {numbers}")
    told = Told(tape, script, outline.damage)
    if as_json:
        say(json_text({"pauses": told.values(outline.run.at, only)}))
    else:
        told.print(outline.run.at, only)
    return tell_damage(tape, outline.damage)


class _Page:
    """The steps of one tape, or one of them."""

    def __init__(self, tape: Tape, outline: Outline, wanted: Number | None, asked: Asked) -> None:
        self.moments = Moments.of(Kept(tape, outline.snapshots), outline.steps)
        self._changed = self.moments.changed(wanted.value if wanted is not None else None)
        found = read_turns(tape, outline)
        self._turns = [turn for turn in found if wanted is None or turn.step == wanted.value]
        self._one = wanted is not None
        self._scores = self._scored(tape, asked)

    def _scored(self, tape: Tape, asked: Asked) -> Scores | None:
        check = asked.parsed()
        if check is None:
            return None
        only = [turn.step for turn in self._turns] if self._one else None
        with checking(asked) as how:
            return score_tape(tape, self.moments, check, how, only)

    def print(self) -> None:
        if self._scores is not None and not self._one:
            print_scores(self._turns, self._changed, self._scores)
            tell_keeping(self._scores)
            return
        for turn in self._turns:
            print_turn(turn, files=files_text(self._changed.get(turn.step)), whole=self._one)
            score = self._scores.at.get(turn.step) if self._scores else None
            if score is not None:
                said = score.why or f"{errors_text(score.errors)}, status {score.status}"
                print_part("check", f"{said}\n{score.output}", whole=True)
        if self._scores is not None:
            tell_keeping(self._scores)

    def values(self) -> dict[str, Any]:
        scores = self._scores
        told: dict[str, Any] = {"turns": list(self._values())}
        if scores is not None:
            count = scores.check.count
            told["check"] = {
                "command": scores.check.command,
                "count": count.pattern if count else None,
                "best": scores.best,
                "containment": scores.containment.as_data() if scores.containment else None,
            }
            end = {"files": files_values(self._changed.get(END))}
            told["end"] = end | {"score": score_values(scores.at.get(END))}
        return told

    def _values(self) -> Iterator[dict[str, Any]]:
        for turn in self._turns:
            told = turn_values(turn) | {"files": files_values(self._changed.get(turn.step))}
            if self._scores is not None:
                told["score"] = score_values(self._scores.at.get(turn.step))
            yield told


def _step(text: str) -> Number:
    number = read_number(f"s{text}" if text.isdigit() else text)
    if number.kind != "s":
        raise UsageProblem(f"`{text}` is no number of a step", hint="write 4 or s4")
    return number
