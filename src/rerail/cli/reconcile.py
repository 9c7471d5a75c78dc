"""`rerail reconcile`: what an action did whose outcome is not known, from the target itself."""

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerail.cli.screen.texts import one_line
from rerail.errors import UsageProblem

if TYPE_CHECKING:
    from rerail.holds import Attempt

STATES = ("applied", "not-applied", "partly-applied", "unknown")


@click.command()
@click.argument("attempt_id", metavar="[ATTEMPT]", required=False)
@click.option(
    "--contract",
    metavar="TASK.yaml",
    type=click.Path(path_type=Path),
    help="The contract to go by, where the one on the tape has been mended since.",
)
@click.option(
    "--state",
    type=click.Choice(STATES),
    help="What you found at the target, where no command can tell.",
)
@click.option("--reason", metavar="TEXT", default="", help="How you found out; with --state.")
@click.option(
    "-o",
    "--output",
    "tape",
    metavar="TAPE",
    type=click.Path(path_type=Path),
    help="Where the tape of this goes; without it, beside the tape of the attempt.",
)
def reconcile(
    attempt_id: str | None,
    contract: Path | None,
    state: str | None,
    reason: str,
    tape: Path | None,
) -> int:
    """Find out what ATTEMPT did, and free its task; without one, list those that are open.

    The exit status is 0 where all that the action did is known, 1 where it is not and the task
    stays held (without ATTEMPT: where any are open), 2 where nobody could be asked.
    """
    from rerail.holds import Holds

    with Holds.open(dict(os.environ)) as holds:
        attempts = holds.attempts()
    if attempt_id is None:
        return _list([attempt for attempt in attempts if attempt.state == "open"])
    found = next((attempt for attempt in attempts if attempt.id == attempt_id), None)
    if found is None:
        raise UsageProblem(
            f"there is no attempt {attempt_id}", hint="`rerail reconcile` lists the open ones"
        )
    if state and not reason:
        raise UsageProblem("there is no reason", hint="say with `--reason` how you found out")
    return _reconcile(found, contract, state, reason, tape)


def _reconcile(
    attempt: "Attempt", contract: Path | None, state: str | None, reason: str, tape: Path | None
) -> int:
    from rerail.task.follow import FollowSettings
    from rerail.task.reconcile import STATES_SAID
    from rerail.task.reconcile import reconcile as find_out

    source = Path(attempt.tape)
    settings = FollowSettings(source, tape or _beside(source), dict(os.environ), contract)
    done = find_out(settings, attempt, said=STATES_SAID.get(state or ""), reason=reason)
    click.echo(f"{attempt.id} on {attempt.target}: {done.state}")
    click.echo(f"task      {attempt.task_id} is {'still held' if done.held else 'free'}")
    click.echo(f"tape      {done.tape}")
    return 1 if done.held else 0


def _list(attempts: "list[Attempt]") -> int:
    for attempt in attempts:
        text = f"{attempt.id}  {attempt.task_id} on {attempt.target}, by {attempt.approval_id}"
        click.echo(one_line(f"{text}  {attempt.tape}"))
    if not attempts:
        click.echo("the outcome of every action is known")
    return 1 if attempts else 0


def _beside(source: Path) -> Path:
    names = (source.with_name(f"{source.stem}.reconcile-{number}.tape") for number in count(1))
    return next(name for name in names if not name.exists())
