"""`rerail trace check`: does the investigation itself hold? Six points."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from rerail.cli.screen.texts import json_text, one_line, say, styled
from rerail.cli.trace.linked import linked_test, outcome
from rerail.cli.trace.safety import held
from rerail.cli.trace.shared import (
    by_option,
    case_argument,
    json_option,
    opener,
    own_key,
    write,
)
from rerail.clock import wall_ns
from rerail.errors import RerailError
from rerail.tape.seal import verify
from rerail.trace.case import Case
from rerail.trace.check import Material, Point, SourceState
from rerail.trace.check import check as judge
from rerail.trace.diagnosis import Diagnosis
from rerail.trace.final import final_state
from rerail.trace.investigation import diagnosed, look
from rerail.trace.record import CaseSource
from rerail.trace.safety import safety
from rerail.trace.second import second_derivation
from rerail.trace.sources_of_case import SourceEntry, entries_of, opened_entries
from rerail.trace.tape_source import TapeSource


@click.command()
@case_argument
@click.option(
    "--test",
    "test",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Link this pytest file to the case, as the test that its failed run is kept as.",
)
@by_option
@json_option
def check(case: Path, test: Path | None, by: str | None, as_json: bool) -> int:
    """Check an investigation before it is closed. 0 every point holds, 1 one does not.

    A point that nobody can judge does not hold either: a review that is not there, a test that was
    never made. The linked test is run, with pytest, where you linked it on this machine.
    """
    found = Case.open(case, own_key)
    with ExitStack() as stack:
        if test is not None:
            write(found, "test", by, linked_test(test, found))
        states = [_state(entry, found.folder, stack) for entry in entries_of(found)]
        points = judge(_material(found, states))
        broken, elsewhere = found.changed(), found.sealed_elsewhere()
        body = {
            "points": [asdict(point) for point in points],
            "changed": broken,
            "sealed_elsewhere": elsewhere,
        }
        write(found, "checked", by, body)
    if as_json:
        say(json_text(body))
    else:
        for point in points:
            _print(point)
        for line in broken:
            say(styled(one_line(f"the case itself was changed: {line}"), fg="red"))
        if elsewhere:
            numbers = ", ".join(map(str, elsewhere))
            say(f"sealed by another user, or on another machine: record {numbers}")
    return int(bool(broken) or any(point.standing != "holds" for point in points))


def _print(point: Point) -> None:
    colour = "green" if point.standing == "holds" else "red"
    say(one_line(f"{point.number}. {point.asks}"))
    standing = "does not hold" if point.standing == "broken" else point.standing
    say("   " + styled(standing, fg=colour) + one_line(f": {point.because}"))


_Opened = tuple[SourceState, CaseSource | None]


def _material(case: Case, states: Sequence[_Opened]) -> Material:
    sources = [source for _, source in states if source is not None]
    looked = look(sources)
    final = final_state(looked.found)
    diagnosis = diagnosed(sources, looked)
    return Material(
        entries=case.entries(),
        found=looked.found,
        diagnosis=diagnosis,
        safety=safety(looked.found, now=wall_ns(), held=held(final)),
        sources=[state for state, _ in states],
        unopened=[*_unopened(diagnosis, sources)],
        second=second_place(diagnosis, sources),
        test=outcome(case),
    )


def _state(entry: SourceEntry, folder: Path, stack: ExitStack) -> _Opened:
    """A source as it is now; no source where it is gone, or cannot be read any more."""
    path = entry.sought_at(folder)
    if path is None:
        return SourceState(entry.name, there=False, same=False, intact=False), None
    same = entry.is_as_taken_in(path)
    try:
        [source] = stack.enter_context(opened_entries([entry], folder, opener()))
    except RerailError:
        return SourceState(entry.name, there=True, same=False, intact=False), None
    intact = True
    if isinstance(source, TapeSource):
        result = verify(source.tape)
        same, intact = same and result.tape_id == entry.tape_id, result.intact
    return SourceState(entry.name, True, same, intact), source


def _unopened(diagnosis: Diagnosis, sources: Sequence[CaseSource]) -> Iterator[str]:
    by_name = {source.name: source for source in sources}
    for finding in diagnosis.everything:
        for place in finding.evidence:
            try:
                by_name[place.source].evidence(place.ref)
            except RerailError:
                yield f"{place.source} {place.ref}"


def second_place(diagnosis: Diagnosis, sources: Sequence[CaseSource]) -> str | None:
    """Where the second way comes out; None where the first divergence is in what was said."""
    if diagnosis.first is None or not diagnosis.first.evidence[0].ref.startswith("e"):
        return None
    for source in sources:
        if isinstance(source, TapeSource):
            found = second_derivation(source.tape.stored_events(), source.tape.blob)
            if found is not None:
                return f"{source.name} e{found.order}"
    return ""
