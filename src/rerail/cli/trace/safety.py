"""`rerail trace safety`: did anything reach the live target? From records alone."""

from dataclasses import asdict
from pathlib import Path

import click

from rerail.cli.texts import json_text, one_line, say
from rerail.cli.trace.shared import (
    by_option,
    case_argument,
    heading,
    json_option,
    opened,
    places,
    write,
)  # fmt: skip
from rerail.clock import wall_ns
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
        result = judge(look(sources).found, now=wall_ns(), held=_held(found.folder))
        write(found, "safety", by, asdict(result))
    if as_json:
        say(json_text(asdict(result)))
    else:
        _print(result)
    return int(result.state not in ("contained", "rolled back"))


def _print(result: Safety) -> None:
    heading(f"status: {result.state}")
    say(one_line(f"because {result.because}"))
    for question in result.questions:
        say(one_line(question.asks))
        say(one_line(f"  {question.answer}: {question.because}{places(question.evidence)}"))


def _held(folder: Path) -> str:
    return ""
