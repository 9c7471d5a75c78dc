"""`rerail trace open`: a failed run is frozen, and a case of it is begun."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from rerail.cli.screen.texts import json_text, one_line, say
from rerail.cli.trace.shared import (
    author,
    by_option,
    heading,
    json_option,
    number_option,
    opener,
    own_key,
)
from rerail.clock import wall_ns
from rerail.errors import UsageProblem
from rerail.holds import Holds
from rerail.trace.case import Case
from rerail.trace.final import UNKNOWN, FinalState
from rerail.trace.opening import open_case as begin
from rerail.trace.tapes_of_run import followers, tapes_of_run

_LOOKED_INTO: Final = (Path("runs"), Path())


@click.command("open")
@click.argument("run", metavar="TAPE|RUN")
@click.option(
    "--question", metavar="TEXT", required=True, help="What is to be found out, in one sentence."
)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where the case goes; by default CASE-… beside the tape.",
)
@number_option
@click.option("--no-hold", is_flag=True, help="Place no hold: retries may start by themselves.")
@by_option
@json_option
def open_case(
    run: str,
    question: str,
    output: Path | None,
    number: int | None,
    no_hold: bool,
    by: str | None,
    as_json: bool,
) -> int:
    """Freeze the failed run on TAPE, or the run of that identifier, and begin a case.

    The tape is made read-only; what a killed recorder left is copied into the case and sealed
    there. Tapes that go on with the run are taken in too. No other run of its task starts by itself
    on this machine until the hold is released.
    """
    if not question.strip():
        raise UsageProblem("there is no question", hint="write --question 'Why did … end with …?'")
    who = author(by)
    case, final = begin(
        tapes_of(run),
        question=question.strip(),
        by=who,
        now=wall_ns(),
        opener=opener(),
        folder=output,
        run=number or 0,
        key=own_key,
    )
    hold = "" if no_hold else _hold(case, final, question, who)
    if as_json:
        say(json_text({"case": str(case.folder), **asdict(final), "hold": hold}))
        return 0
    heading(str(case.folder))
    for name, value in asdict(final).items():
        say(one_line(f"{name}: {value}"))
    say(f"hold: {hold or 'none'}")
    return 0


def tapes_of(run: str) -> list[Path]:
    """A file and the tapes beside it that go on with its run; or those of a run's identifier."""
    path = Path(run)
    if path.exists() or path.suffix == ".tape":
        return [path, *(tape.path for tape in followers(path))]
    return [tape.path for tape in tapes_of_run(run, _LOOKED_INTO)]


def _hold(case: Case, final: FinalState, question: str, by: str) -> str:
    """No automatic retry, on this machine, until somebody releases it; none of an unknown run."""
    run_id, task_id = ("" if name == UNKNOWN else name for name in (final.run_id, final.task_id))
    if not run_id and not task_id:
        return ""
    with Holds.open(os.environ) as holds:
        hold = holds.place(
            run_id=run_id,
            task_id=task_id,
            reason=f"a case is open: {question}",
            by=by,
            case=str(case.folder.absolute()),
        )
    return hold.id
