"""`rerail trace diagnose`: the first broken assumption that the records support."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from rerail.cli.options import TAPE
from rerail.cli.screen.texts import json_text, one_line, say
from rerail.cli.trace.against import against
from rerail.cli.trace.shared import (
    by_option,
    case_argument,
    command,
    heading,
    json_option,
    opened,
    opens,
    places,
    section,
    write,
)
from rerail.trace.case import Case
from rerail.trace.categories import ADVICE
from rerail.trace.diagnosis import Diagnosis
from rerail.trace.finding import Finding
from rerail.trace.investigation import diagnosed, look
from rerail.trace.record import CaseSource
from rerail.trace.sources_of_case import entries_of


@click.command()
@case_argument
@click.option(
    "--against", "good", metavar="TAPE", type=TAPE, help="Say what is first otherwise than here."
)
@by_option
@json_option
def diagnose(case: Path, good: Path | None, by: str | None, as_json: bool) -> int:
    """Say where the run of a case first went wrong, as far as its records show it.

    One of seven categories and the record where it broke, or candidates where nothing decides. 0
    where it is decided, 1 where it stays unresolved. The result is a record of the case.
    """
    with opened(case) as (found, sources):
        looked = look(sources)
        diagnosis = diagnosed(sources, looked)
        other = against(good, sources, looked.found) if good else []
        body = asdict(diagnosis) | ({"against": {str(good): other}} if good else {})
        write(found, "diagnosis", by, body)
    if as_json:
        say(json_text(body))
    else:
        _print(diagnosis, found, sources)
        _print_against(good, other)
    return int(diagnosis.first is None)


def _print(diagnosis: Diagnosis, case: Case, sources: Sequence[CaseSource]) -> None:
    heading(f"classification: {diagnosis.classification}")
    if diagnosis.orchestration:
        say("a defect of the trace or of the orchestration: the agent's reasoning is not read")
    if diagnosis.first is not None:
        first = diagnosis.first
        say(one_line(f"first divergence: {first.what}{places(first.evidence)}"))
        for line in _opened_by(first, case, sources):
            command(line)
        if first.contradicts:
            say(one_line(f"contradicts: {first.contradicts}"))
        if diagnosis.classification != "unresolved":
            say(one_line(f"typical recovery: {ADVICE[diagnosis.classification].recovery}"))
    say(one_line(f"because {diagnosis.because}"))
    section("candidates, the most telling first", diagnosis.candidates, _category)
    section("later findings", diagnosis.later, _category)
    section("not read, since a link is broken", diagnosis.unread, _category)
    section("missing records", diagnosis.missing, lambda finding: "missing")
    section("context, not blamed", diagnosis.context, _category)


def _opened_by(finding: Finding, case: Case, sources: Sequence[CaseSource]) -> Iterator[str]:
    """The commands that open a finding's places."""
    recorded = {source.name: source.recorded for source in sources}
    paths = {entry.name: entry.found_at(case.folder) for entry in entries_of(case)}
    for place in dict.fromkeys(finding.evidence):
        yield opens(paths[place.source], place, recorded=recorded[place.source])


def _print_against(good: Path | None, lines: list[str]) -> None:
    if good is None:
        return
    say()
    heading(f"first otherwise than in {good}")
    for line in lines or ["nothing: the two runs are the same"]:
        say(one_line(f"  {line}"))


def _category(finding: Finding) -> str:
    return f"{finding.category}, {finding.tier}:"
