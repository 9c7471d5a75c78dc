"""`rerail trace`: an investigation, step by step, from a failed run to its report."""

from typing import Final

import click

from rerail.cli.verbs import Table, Verbs

STEPS: Final[Table] = {
    "open": ("rerail.cli.trace.open:open_case", "Freeze a failed run, and begin a case of it."),
    "collect": ("rerail.cli.trace.collect:collect", "Join further sources; name what is missing."),
    "timeline": ("rerail.cli.trace.timeline:timeline", "What happened, in order, with evidence."),
    "verify": ("rerail.cli.trace.verify:verify", "Do the records belong together? Six checks."),
    "diagnose": ("rerail.cli.trace.diagnose:diagnose", "The first broken assumption."),
    "safety": ("rerail.cli.trace.safety:safety", "Did anything reach the target? Five questions."),
    "note": ("rerail.cli.trace.note:note", "Write something down, about a record or the case."),
    "review": ("rerail.cli.trace.review:review", "A second person's own first divergence."),
    "report": ("rerail.cli.trace.report:report", "The failure report, every line with evidence."),
    "check": ("rerail.cli.trace.check:check", "Does the investigation itself hold?"),
}


class Steps(Verbs):
    """The steps of an investigation."""

    table = STEPS
    noun = "step of `rerail trace`"


@click.group(cls=Steps)
def trace() -> None:
    """Investigate a failed run from its records, before anything is run again.

    A case is a folder (CASE-…): what was done, numbered, dated, by whom. No tape is ever changed.
    """
