"""A held run, and a person who goes on all the same: with a reason, which is put on the tape."""

from collections.abc import Mapping

import click

from rerail.errors import UsageProblem

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
    """The holds on a run and its task. Raises UsageProblem where one stands and nobody says why."""
    from rerail.holds import Holds

    holds = Holds.open_if_there(environment)
    if holds is None:
        return ()
    with holds:
        standing = holds.on(run_id=run_id, task_id=task_id)
    if standing and not despite:
        hold = standing[0]
        raise UsageProblem(
            f"{hold.task_id or hold.run_id} is held on this machine ({hold.id}): {hold.reason}",
            hint="go on with `--despite-hold WHY`, which is put on the tape",
        )
    return tuple((hold.id, hold.reason, despite) for hold in standing)
