"""`rerail trace report`: the failure report, as YAML, Markdown and a page, into the case."""

from pathlib import Path
from typing import Final

import click

from rerail.cli.screen.texts import block, json_text, say
from rerail.cli.trace.safety import held
from rerail.cli.trace.shared import author, by_option, case_argument, json_option, opened
from rerail.clock import wall_ns
from rerail.errors import RerailError
from rerail.trace.case import Case, write_new
from rerail.trace.final import final_state
from rerail.trace.investigation import diagnosed, look
from rerail.trace.record import CaseSource
from rerail.trace.report import Report, Said
from rerail.trace.report import report as make
from rerail.trace.report_forms import to_markdown, to_yaml
from rerail.trace.report_page import Contents, to_html
from rerail.trace.safety import safety
from rerail.trace.sources_of_case import entries_of

_MOST: Final = 20_000


@click.command()
@case_argument
@click.option("--recovery", metavar="TEXT", default="", help="The mend, in your own words.")
@click.option("--prevention", metavar="TEXT", default="", help="What keeps it from coming again.")
@click.option("--owner", metavar="TEXT", default="", help="Who owns the mend.")
@by_option
@json_option
def report(
    case: Path, recovery: str, prevention: str, owner: str, by: str | None, as_json: bool
) -> int:
    """Write the failure report of a case: every line names the records that it rests on.

    It becomes a record of the case, and three files beside it: YAML, Markdown, and a page that
    needs nothing but itself, each with the evidence. The YAML is printed.
    """
    who = author(by)
    said = Said(who, recovery.strip(), prevention.strip(), owner.strip())
    with opened(case) as (found, sources):
        made = _made(found, sources, said)
        names = _names(found, sources)
        contents = _contents(made, sources)
        body = {"document": made.values()}
        entry = found.add("report", by=who, written=wall_ns(), body=body)
        stem = found.folder / f"{entry.number:03}-report"
        forms = {
            "yaml": to_yaml(made, names),
            "md": to_markdown(made, names, contents),
            "html": to_html(made, names, contents),
        }
        for suffix, text in forms.items():
            write_new(stem.with_suffix(f".{suffix}"), text.encode("utf-8", "replace"))
    say(json_text(made.values()) if as_json else block(forms["yaml"]), end="")
    return 0


def _made(case: Case, sources: list[CaseSource], said: Said) -> Report:
    looked = look(sources)
    final = final_state(looked.found)
    return make(
        looked.found,
        looked.links,
        diagnosed(sources, looked),
        safety(looked.found, now=wall_ns(), held=held(final)),
        final,
        question=str(case.entries()[0].body.get("question", "")),
        said=said,
    )


def _names(case: Case, sources: list[CaseSource]) -> dict[str, str]:
    """How each source is opened; what was imported is said to be."""
    return {
        entry.name: f"rerail show {entry.path}"
        if entry.kind == "tape"
        else f"{entry.path} (imported, not recorded)"
        for entry in entries_of(case)
    }


def _contents(made: Report, sources: list[CaseSource]) -> Contents:
    by_name = {source.name: source for source in sources}
    found = {}
    for place in made.evidence():
        try:
            text = by_name[place.source].evidence(place.ref)
        except RerailError as error:
            text = f"(cannot be opened: {error.what})"
        cut = f"\n(the first {_MOST} characters)" if len(text) > _MOST else ""
        found[place.source, place.ref] = block(text[:_MOST]) + cut
    return found
