"""`rerail trace TAPE`: a failed run on one screen. Writes, holds and freezes nothing."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Any, Final

import click

from rerail.cli.screen.texts import json_text, one_line, quantity, say, styled
from rerail.cli.trace.advising import advised
from rerail.cli.trace.glanced import Glanced, glanced
from rerail.cli.trace.shared import STATE_COLOURS, command, heading, json_option, number_option
from rerail.trace.final import UNKNOWN
from rerail.trace.finding import Finding
from rerail.trace.record import text

_SHOWN: Final = 3


@click.command()
@click.argument("run", metavar="TAPE|RUN|CASE")
@number_option
@json_option
def look(run: str, number: int | None, as_json: bool) -> int:
    """What broke first, how sure that is, how the world stands, and what to do next.

    `rerail trace TAPE` is the same. Reads a tape and those that go on with its run, another
    program's file, or a case, and writes nothing anywhere.
    """
    with glanced(run, number or 0) as seen:
        if as_json:
            say(json_text(_values(seen)))
        else:
            _print(seen)
    return 0


def _print(seen: Glanced) -> None:
    for line in _title(seen):
        say(one_line(line))
    _broke_first(seen)
    _part("How sure is that?")
    for line in seen.sure:
        say(one_line(f"  {line}"))
    _world(seen)
    _part("What is to be done next?")
    for one in advised(seen):
        say(one_line(f"  {one.why}"))
        command(one.command)


def _title(seen: Glanced) -> Iterator[str]:
    final = seen.final
    task = f" of {final.task_id}" if final.task_id not in (UNKNOWN, final.run_id) else ""
    ended = seen.found.last("task.ended")
    reason = f": {text(ended, 'reason')}" if text(ended, "reason") else ""
    run = final.run_id if final.run_id != UNKNOWN else "a run without an identifier"
    yield f"{run}{task}: {final.runner_state}{reason}"
    for source in seen.sources:
        records = quantity(sum(seen.found.kinds[source.name].values()), "record")
        origin = "" if source.recorded else ", imported, not recorded"
        yield f"{source.name}  {seen.paths[source.name]}: {records}{origin}"


def _broke_first(seen: Glanced) -> None:
    _part("What broke first?")
    first = seen.diagnosis.first
    if seen.well and not seen.unchecked:
        say(styled("  nothing that the records show: the run ended well", fg="green", bold=True))
        return
    if first is None:
        known = "nothing that the records show: it ended with status 0, which is its own word"
        say(styled(f"  {known if seen.well else 'not known'}", fg="yellow", bold=True))
        for candidate in seen.diagnosis.candidates[:_SHOWN]:
            _finding(seen, candidate, "perhaps ")
        _more(len(seen.diagnosis.candidates), "candidate")
        for what, opened_by in seen.last_seen():
            say(one_line(f"  {what}"))
            command(opened_by)
        return
    _finding(seen, first, "")
    if first.contradicts:
        say(one_line(f"  stated: {first.contradicts}"))
    for opened_by, places in groupby(first.evidence[:_SHOWN], seen.opens):
        for place in places:
            say(one_line(f"    {place.ref:<5} {' '.join(place.says.split())}"))
        command(opened_by, indent=10)


def _finding(seen: Glanced, finding: Finding, perhaps: str) -> None:
    colour = "yellow" if perhaps else "red"
    category = styled(f"{perhaps}{finding.category}", fg=colour, bold=True)
    say(f"  {category}: {one_line(finding.what)}")
    if perhaps and finding.evidence:
        command(seen.opens(finding.evidence[0]))


def _world(seen: Glanced) -> None:
    state, questions = seen.safety.state, seen.safety.questions
    _part("How does the world stand?")
    say(
        "  "
        + styled(state, fg=STATE_COLOURS[state], bold=True)
        + one_line(f": {seen.safety.because}")
    )
    if questions[0].answer == "unknown":
        for opened_by in dict.fromkeys(map(seen.opens, questions[0].evidence[:_SHOWN])):
            command(opened_by)
    retry = questions[3]
    can = {"yes": "can start by itself", "no": "cannot start by itself"}.get(retry.answer)
    say(one_line(f"  another run {can or 'may start by itself'}: {retry.because}"))
    folder, changed = seen.changed()
    if folder and seen.final.workspace == UNKNOWN:
        names = ", ".join(changed[:_SHOWN]) or "nothing changed"
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        say(one_line(f"  the agent worked in {folder}: {names}{more}"))
        if changed:
            command(f"rerail show {seen.named()} --files start..end")


def _part(title: str) -> None:
    say()
    heading(title)


def _more(count: int, noun: str) -> None:
    if count > _SHOWN:
        more = quantity(count - _SHOWN, f"more {noun}")
        say(f"  and {more}: `rerail trace diagnose CASE` has them all")


def _values(seen: Glanced) -> dict[str, Any]:
    first, folder = seen.diagnosis.first, seen.changed()
    return {
        "run_id": seen.final.run_id,
        "task_id": seen.final.task_id,
        "runner_state": seen.final.runner_state,
        "sources": {name: str(path) for name, path in seen.paths.items()},
        "classification": seen.diagnosis.classification,
        "first_divergence": _finding_values(seen, first) if first else None,
        "candidates": [_finding_values(seen, one) for one in seen.diagnosis.candidates],
        "sure": seen.sure,
        "safety": {"state": seen.safety.state, "because": seen.safety.because},
        "retry": seen.safety.questions[3].answer,
        "folder": {"path": folder[0], "changed": folder[1]},
        "next": [{"why": one.why, "command": one.command} for one in advised(seen)],
    }


def _finding_values(seen: Glanced, finding: Finding) -> dict[str, Any]:
    return {
        "category": finding.category,
        "what": finding.what,
        "contradicts": finding.contradicts,
        "evidence": [asdict(place) | {"opens": seen.opens(place)} for place in finding.evidence],
    }
