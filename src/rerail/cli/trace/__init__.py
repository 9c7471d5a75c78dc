"""`rerail trace`: an investigation, step by step, from a failed run to its report."""

from pathlib import Path
from typing import Final

import click

from rerail.cli.verbs import Table, Verbs

STEPS: Final[Table] = {
    "look": ("rerail.cli.trace.look:look", "A failed run on one screen; `trace TAPE` is the same."),
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A tape or a case in the place of a step is looked at."""
        if args and args[0] not in STEPS and _is_a_run(args[0]):
            args = ["look", *args]
        return super().resolve_command(ctx, args)


def _is_a_run(name: str) -> bool:
    return name.endswith(".tape") or "/" in name or Path(name).exists()


@click.group(cls=Steps)
def trace() -> None:
    """Investigate a failed run from its records, before anything is run again.

    `rerail trace TAPE` says on one screen what broke first, how sure that is, how the world stands,
    and what to do next. The steps make an investigation that others can check: a case is a folder
    (CASE-…): what was done, numbered, dated, by whom. No tape is ever changed.
    """
