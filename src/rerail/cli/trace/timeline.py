"""`rerail trace timeline`: what happened, in order; what somebody makes of it stands apart."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from rerail.cli.texts import for_person, json_array, one_line, say, styled, utc
from rerail.cli.trace.shared import case_argument, json_option, opened, places
from rerail.trace.case import Case
from rerail.trace.finding import Finding
from rerail.trace.investigation import diagnosed, look
from rerail.trace.timeline import Competing, Line
from rerail.trace.timeline import timeline as merged

_MARKS: Final = {
    "sequence": "",
    "cause": "caused",
    "clock": "by clocks",
    "unknown": "order unknown",
    "contradiction": "against its cause",
}
_Readings = dict[tuple[str, str], list[str]]


@click.command()
@case_argument
@click.option("--facts", is_flag=True, help="Facts alone: no findings and no notes between them.")
@json_option
def timeline(case: Path, facts: bool, as_json: bool) -> int:
    """Show the records of a case in one order: by number within a source, by causes between them.

    A time only breaks ties, and is marked where it does. Where the order of two records cannot be
    known, both orders are shown, and what would tell them apart. Findings and notes are readings:
    they stand below the record that they are about, set apart.
    """
    with opened(case) as (found, sources):
        readings = {} if facts else _readings(found, diagnosed(sources, look(sources)).everything)
        lines = merged(sources)
        if as_json:
            for piece in json_array(_values(lines, readings)):
                say(piece, end="")
            return 0
        several = len(sources) > 1
        for line in lines:
            _print(line, readings.pop((line.record.source, line.record.ref), ()), several=several)
        _print_left(readings)
    return 0


def _readings(case: Case, findings: Iterable[Finding]) -> _Readings:
    """What is made of records, by the record each reading is about."""
    found: _Readings = defaultdict(list)
    for finding in findings:
        name = "missing" if finding.missing else finding.category
        where = (
            (finding.evidence[0].source, finding.evidence[0].ref) if finding.evidence else ("", "")
        )
        found[where].append(f"{name}: {finding.what}{places(finding.evidence[1:])}")
    for entry in case.entries():
        if entry.kind == "note":
            about = entry.body.get("about") or {}
            where = (str(about.get("source", "")), str(about.get("ref", "")))
            found[where].append(f"note {entry.number:03} by {entry.by}: {entry.body['text']}")
    return found


def _print(line: Line, readings: Iterable[str], *, several: bool) -> None:
    record = line.record
    mark = _MARKS[line.by]
    place = f"{record.source} {record.ref}" if several else record.ref
    when = utc(record.wall) if several and record.wall is not None else ""
    if for_person():
        said = f"{place:>8}  {record.component:<9} {record.kind:<18} {record.says}"
        say(one_line(said) + (styled(f"  ({mark})", dim=True) if mark else ""))
    else:
        cells = ("fact", place, when, record.component, record.kind, record.says, mark)
        say("\t".join(map(one_line, cells)))
    for competing in line.competing:
        _reading(place, _orders(competing))
    for reading in readings:
        _reading(place, reading)


def _reading(place: str, text: str) -> None:
    """An interpretation: never in the column of facts."""
    if for_person():
        say(styled(one_line(f"          ┆ {text}"), fg="cyan"))
    else:
        say(one_line(f"reading {place}").replace(" ", "\t", 1) + "\t" + one_line(text))


def _orders(competing: Competing) -> str:
    one, other = competing.one, competing.other
    first, second = f"{one.source} {one.ref} ({one.kind})", f"{other.source} {other.ref}"
    return (
        f"order not known: {first} before {second} ({other.kind}), or behind it; "
        f"to tell them apart: {competing.tells_apart}"
    )


def _print_left(readings: _Readings) -> None:
    """Readings about no record that has a line of its own."""
    left = [(where, text) for where, texts in readings.items() for text in texts]
    if left:
        say()
    for (source, ref), text in left:
        _reading(f"{source} {ref}".strip(), text)


def _values(lines: Iterable[Line], readings: _Readings) -> Iterator[dict[str, Any]]:
    for line in lines:
        record = line.record
        yield {
            "source": record.source,
            "ref": record.ref,
            "wall_ns": record.wall,
            "component": record.component,
            "kind": record.kind,
            "says": record.says,
            "placed_by": line.by,
            "competing": [
                {"with": f"{one.one.source} {one.one.ref}", "tells_apart": one.tells_apart}
                for one in line.competing
            ],
            "readings": list(readings.get((record.source, record.ref), ())),
        }
