"""A held run, and a person who goes on all the same: with a reason, which is put on the tape."""

from collections.abc import Mapping

import click

despite_option = click.option(
    "--despite-hold",
    "despite",
    metavar="WHY",
    default="",
    help="Go on though the task is held; the reason is put on the tape.",
)
"""`--despite-hold WHY`."""

WentOn = tuple[tuple[str, str, str], ...]
"""Holds that were met: each its id, its reason, and what was said to go on."""


def went_on(environment: Mapping[str, str], *, run_id: str, task_id: str, despite: str) -> WentOn:
    """The holds on a run and its task. Raises TaskHeld where one stands and nobody says why."""
    from rerail.holds import gone_past

    hint = "end it with `rerail runs release`, or go on with `--despite-hold WHY`, which is kept"
    standing = gone_past(environment, run_id=run_id, task_id=task_id, despite=despite, hint=hint)
    return tuple((hold.id, hold.reason, despite) for hold in standing)
