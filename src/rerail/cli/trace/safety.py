"""`rerail trace safety`: did anything reach the live target? From records alone."""

import os
from dataclasses import asdict
from pathlib import Path

import click

from rerail.cli.screen.texts import json_text, one_line, say, styled
from rerail.cli.trace.shared import (
    STATE_COLOURS,
    by_option,
    case_argument,
    json_option,
    opened,
    places,
    write,
)
from rerail.clock import wall_ns
from rerail.holds import Holds
from rerail.trace.final import FinalState, final_state
from rerail.trace.investigation import look
from rerail.trace.safety import Safety
from rerail.trace.safety import safety as judge


@click.command()
@case_argument
@by_option
@json_option
def safety(case: Path, by: str | None, as_json: bool) -> int:
    """Answer five questions about the live target from the records of a case.

    The result is contained, rolled back, partially applied, applied, or unresolved, and becomes a
    record of the case. 0 where it is contained or rolled back, else 1.
    """
    with opened(case) as (found, sources):
        records = look(sources).found
        result = judge(records, now=wall_ns(), held=held(final_state(records)))
        write(found, "safety", by, asdict(result))
    if as_json:
        say(json_text(asdict(result)))
    else:
        _print(result)
    return int(result.state not in ("contained", "rolled back"))


def _print(result: Safety) -> None:
    state = styled(result.state, fg=STATE_COLOURS[result.state], bold=True)
    say(styled("status: ", bold=True) + state)
    say(one_line(f"because {result.because}"))
    for question in result.questions:
        say(one_line(question.asks))
        say(one_line(f"  {question.answer}: {question.because}{places(question.evidence)}"))


def held(final: FinalState) -> str:
    """The hold on the run or its task, on this machine; empty for none."""
    holds = Holds.open_if_there(os.environ)
    if holds is None:
        return ""
    with holds:
        found = holds.on(run_id=final.run_id, task_id=final.task_id)
    return found[0].id if found else ""
