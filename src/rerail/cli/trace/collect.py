"""`rerail trace collect`: further sources, joined by identifier; what is missing is named."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rerail.cli.screen.texts import json_text, one_line, say
from rerail.cli.trace.shared import (
    by_option,
    case_argument,
    heading,
    json_option,
    number_option,
    opener,
    own_key,
    write,
)
from rerail.errors import UsageProblem
from rerail.trace.case import Case
from rerail.trace.freeze import thawed_on_failure
from rerail.trace.gathered import Gathered, gather, worded
from rerail.trace.joining import identifiers, joined
from rerail.trace.log_source import mapping_in, read_mapping
from rerail.trace.needs import Found, needs
from rerail.trace.record import CaseSource
from rerail.trace.sources_of_case import (
    SourceEntry,
    entries_of,
    must_be_as_taken_in,
    next_name,
    opened_entries,
    opened_file,
)
from rerail.trace.taking import offered, take_in


@dataclass(frozen=True, slots=True)
class _Collected:
    entries: list[SourceEntry]
    by: dict[str, Sequence[str]]
    found: Gathered
    needs: list[Found]


@click.command()
@case_argument
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--mapping",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="How SOURCES are read, which are logs of JSON lines: which field is what.",
)
@number_option
@click.option(
    "--word",
    metavar="TEXT",
    help="Take in a source that shares no identifier, on your word: why it is of this run.",
)
@by_option
@json_option
def collect(
    case: Path,
    sources: tuple[Path, ...],
    mapping: Path | None,
    number: int | None,
    word: str | None,
    by: str | None,
    as_json: bool,
) -> int:
    """Take SOURCES into the case, and say which kinds of records it has and which are missing.

    A source belongs to the case where its records share an identifier of the run. Each kind of
    record that an investigation needs is present, missing, or not called for by any other record.
    0 where none is missing, else 1.
    """
    found = Case.open(case, own_key)
    with thawed_on_failure(sources):
        collected = _collect(found, sources, _mapping(mapping), number or 0, word)
        body = _body(collected, word)
        write(found, "collected", by, body)
    if as_json:
        say(json_text(body))
    else:
        _print(collected)
    return int(any(one.presence == "missing" for one in collected.needs))


def _mapping(path: Path | None) -> str:
    """The text of a mapping that can be read; empty for none."""
    if path is None:
        return ""
    content = mapping_in(path)
    read_mapping(content, str(path))
    return content.decode()


def _collect(
    case: Case, sources: Sequence[Path], mapping: str, run: int, word: str | None
) -> _Collected:
    entries = entries_of(case)
    must_be_as_taken_in(entries, case.folder)
    joined_by: dict[str, Sequence[str]] = {}
    opens = opener()
    for path in sources:
        _must_be_new(path, entries, case)
        name = next_name(entries)
        new = offered(path, name, mapping=mapping, run=run)
        with (
            opened_file(new, opens) as source,
            opened_entries(entries, case.folder, opens) as known,
        ):
            joined_by[name] = _shared(source, known, path, word)
        entries.append(take_in(case, new))
    with opened_entries(entries, case.folder, opens) as opened:
        records = worded(gather(opened), opened)
    return _Collected(entries, joined_by, records, needs(records))


def _must_be_new(path: Path, entries: Sequence[SourceEntry], case: Case) -> None:
    """A source that is there twice would count everything twice."""
    for entry in entries:
        if path.resolve() in (entry.found_at(case.folder).resolve(), Path(entry.copied_from)):
            hint = "`rerail trace collect CASE` alone says what the case has"
            raise UsageProblem(f"{path} is source {entry.name} of the case already", hint=hint)


def _shared(
    new: CaseSource, known: Sequence[CaseSource], path: Path, word: str | None
) -> Sequence[str]:
    how = joined(new, identifiers(known))
    if not how.by and not word:
        hint = "a source of another run misleads; where you know better, say why with --word"
        raise UsageProblem(f"{path} shares no identifier with the case", hint=hint)
    return how.by or [f"on somebody's word: {word}"]


def _body(collected: _Collected, word: str | None) -> dict[str, Any]:
    return {
        "sources": [entry.values() for entry in collected.entries],
        "joined_by": {name: list(by) for name, by in collected.by.items()},
        "kinds": {name: dict(kinds) for name, kinds in collected.found.kinds.items()},
        "needs": [
            {
                "record": one.need.name,
                "presence": one.presence,
                "count": one.count,
                "would_show": one.need.would_show,
                "by": f"{one.by.source} {one.by.ref}" if one.by else "",
            }
            for one in collected.needs
        ],
    }


def _print(collected: _Collected) -> None:
    for entry in collected.entries:
        records = sum(collected.found.kinds[entry.name].values())
        origin = "recorded" if entry.kind == "tape" else "imported, not recorded"
        by = ", ".join(collected.by.get(entry.name, ()))
        joined_by = f", joined by {by}" if by else ""
        say(one_line(f"{entry.name}  {entry.path}: {records} records, {origin}{joined_by}"))
    say()
    for one in collected.needs:
        _print_need(one)


def _print_need(one: Found) -> None:
    by = f"  [{one.by.source} {one.by.ref}]" if one.by else ""
    match one.presence:
        case "present":
            say(one_line(f"present         {one.need.name} ({one.count})"))
        case "missing":
            heading(f"missing         {one.need.name}: {one.need.would_show}{by}")
        case _:
            say(one_line(f"not called for  {one.need.name}{by}"))
