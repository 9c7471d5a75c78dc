"""`rerail trace timeline`: what happened, in order; what somebody makes of it stands apart."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from rerail.cli.screen.texts import for_person, json_array, one_line, say, styled, utc
from rerail.cli.trace.shared import case_argument, json_option, opened, places
from rerail.trace.case import Case
from rerail.trace.diagnosis import Diagnosis
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
_AT_ONCE: Final = 500
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
        looked = None if facts else look(sources)
        readings = _readings(found, diagnosed(sources, looked)) if looked else {}
        lines = merged(sources, order=looked.order if looked else None)
        if as_json:
            for piece in json_array(_values(lines, readings)):
                say(piece, end="")
            return 0
        for piece in _batched(_lines(lines, readings, several=len(sources) > 1)):
            say(piece)
    return 0


def _batched(lines: Iterable[str]) -> Iterator[str]:
    """Some hundred lines at once for a pipe, where a million of them may follow."""
    left = iter(lines)
    while found := list(islice(left, 1 if for_person() else _AT_ONCE)):
        yield "\n".join(found)


def _readings(case: Case, diagnosis: Diagnosis) -> _Readings:
    """What is made of records, by the record each reading is about."""
    found: _Readings = defaultdict(list)
    for finding in diagnosis.everything:
        name = "missing" if finding.missing else str(finding.category)
        if finding in diagnosis.unread:
            name = f"{name}, not read while a link is broken"
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


def _lines(lines: Iterable[Line], readings: _Readings, *, several: bool) -> Iterator[str]:
    person = for_person()
    for line in lines:
        record = line.record
        place = f"{record.source} {record.ref}" if several else record.ref
        when = utc(record.wall) if several and record.wall is not None else ""
        yield _fact(line, place, when, person=person)
        for competing in line.competing:
            yield _reading(place, _orders(competing))
        for reading in readings.pop((record.source, record.ref), ()):
            yield _reading(place, reading)
    for (source, ref), texts in readings.items():
        yield from (_reading(f"{source} {ref}".strip(), text) for text in texts)


def _fact(line: Line, place: str, when: str, *, person: bool) -> str:
    record, mark = line.record, _MARKS[line.by]
    if person:
        said = f"{place:>8}  {record.component:<9} {record.kind:<18} {record.says}"
        return one_line(said) + (styled(f"  ({mark})", dim=True) if mark else "")
    kind, says = one_line(record.kind), one_line(record.says)  # the rest is rerail's own words
    return f"fact\t{place}\t{when}\t{record.component}\t{kind}\t{says}\t{mark}"


def _reading(place: str, text: str) -> str:
    """An interpretation: never in the column of facts."""
    if for_person():
        return styled(one_line(f"          ┆ {text}"), fg="cyan")
    return f"reading\t{one_line(place)}\t{one_line(text)}"


def _orders(competing: Competing) -> str:
    one, other = competing.one, competing.other
    first, second = f"{one.source} {one.ref} ({one.kind})", f"{other.source} {other.ref}"
    return (
        f"order not known: {first} before {second} ({other.kind}), or behind it; "
        f"to tell them apart: {competing.tells_apart}"
    )


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
