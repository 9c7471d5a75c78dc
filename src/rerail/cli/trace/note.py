"""`rerail trace note`: something written down beside the records, never in them."""

from pathlib import Path

import click

from rerail.cli.screen.texts import say
from rerail.cli.trace.shared import by_option, case_argument, opened, write
from rerail.errors import NotOnTape, UsageProblem
from rerail.trace.finding import Evidence
from rerail.trace.record import CaseSource


@click.command()
@case_argument
@click.argument("text")
@click.option("--about", metavar="A:e44", help="The record that the note is about.")
@by_option
def note(case: Path, text: str, about: str | None, by: str | None) -> int:
    """Write TEXT down in the case, under a name and a date. It is an interpretation, no fact."""
    if not text.strip():
        raise UsageProblem("the note is empty", hint='write rerail trace note CASE "…"')
    with opened(case) as (found, sources):
        place = read_place(about, sources) if about else None
        body = {"text": text, "about": {"source": place.source, "ref": place.ref} if place else {}}
        entry = write(found, "note", by, body)
    say(f"{entry.number:03} note by {entry.by}")
    return 0


def read_place(text: str, sources: list[CaseSource]) -> Evidence:
    """A place such as `A:e44`, or `e44` in a case of one source. Raises where none is there."""
    name, colon, ref = text.partition(":")
    if not colon:
        name, ref = sources[0].name, text
    source = next((one for one in sources if one.name == name), None)
    if source is None:
        names = ", ".join(one.name for one in sources)
        raise NotOnTape(f"the case has no source {name}", hint=f"it has {names}: write A:e44")
    source.evidence(ref)
    return Evidence(name, ref)
