"""`rerail trace review`: a second person's own first divergence, before the report is seen."""

from pathlib import Path
from typing import get_args

import click

from rerail.cli.screen.complaint import say_aside
from rerail.cli.screen.texts import say
from rerail.cli.trace.note import read_place
from rerail.cli.trace.shared import author, by_option, case_argument, opened, write
from rerail.errors import UsageProblem
from rerail.trace.finding import Category


@click.command()
@case_argument
@click.option(
    "--first", metavar="A:e44", required=True, help="The record where it first went wrong."
)
@click.option(
    "--category",
    type=click.Choice([*get_args(Category), "unresolved"]),
    required=True,
    help="Whose assumption broke.",
)
@click.option("--why", metavar="TEXT", default="", help="What shows it.")
@by_option
def review(case: Path, first: str, category: str, why: str, by: str | None) -> int:
    """Write down where you, a second person, see the first divergence; nothing of the case is told.

    Do it from the timeline, before a report is there: afterwards nobody can tell that you had not
    seen it. `rerail trace check` compares.
    """
    who = author(by)
    with opened(case) as (found, sources):
        entries = found.entries()
        if who in {entry.by for entry in entries if entry.kind in ("diagnosis", "report")}:
            hint = "a review is another person's: write --by NAME"
            raise UsageProblem(f"{who} has made the diagnosis or the report", hint=hint)
        place = read_place(first, sources)
        late = any(entry.kind == "report" for entry in entries)
        body = {"source": place.source, "ref": place.ref, "category": category, "why": why}
        entry = write(found, "review", who, body)
    say(f"{entry.number:03} review by {entry.by}: {place.source} {place.ref}")
    if late:
        say_aside("rerail: there is a report already, so that this review counts for little")
    return 0
