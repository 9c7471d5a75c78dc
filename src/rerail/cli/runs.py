"""`rerail runs`: holds on tasks and runs: what stands, one more, one less."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from rerail.cli.screen.texts import one_line, utc_second
from rerail.errors import UsageProblem

if TYPE_CHECKING:
    from rerail.holds import Hold


@click.group()
def runs() -> None:
    """Which tasks are held on this machine: no run of them starts by itself."""


@runs.command()
@click.option("--all", "everything", is_flag=True, help="List those that were released too.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def ls(everything: bool, as_json: bool) -> int:
    """List the holds that stand."""
    from rerail.holds import Holds

    with Holds.open(dict(os.environ)) as holds:
        found = [hold for hold in holds.every() if everything or hold.released is None]
    if as_json:
        click.echo(json.dumps([msgspec.to_builtins(hold) for hold in found], indent=2))
        return 0
    for hold in found:
        click.echo(_line(hold))
    if not found:
        click.echo("nothing is held")
    return 0


@runs.command()
@click.argument("name", metavar="TAPE|TASK")
@click.option("--reason", metavar="TEXT", required=True, help="Why, for whoever meets the hold.")
def hold(name: str, reason: str) -> int:
    """Hold the run on a TAPE and its task, or a TASK by its id."""
    from rerail.holds import Holds
    from rerail.task.approval import user_name

    run_id, task_id = _meant(name)
    with Holds.open(dict(os.environ)) as holds:
        placed = holds.place(run_id=run_id, task_id=task_id, reason=reason, by=user_name())
    click.echo(_line(placed))
    return 0


@runs.command()
@click.argument("hold_id", metavar="ID")
@click.option("--reason", metavar="TEXT", required=True, help="Why it may go on.")
def release(hold_id: str, reason: str) -> int:
    """Release the hold ID."""
    from rerail.holds import Holds
    from rerail.task.approval import user_name

    with Holds.open(dict(os.environ)) as holds:
        found = next((hold for hold in holds.every() if hold.id == hold_id), None)
        if found is not None and found.attempt_id and found.released is None:
            raise UsageProblem(
                f"{hold_id} stands until it is known what {found.attempt_id} did",
                hint=f"`rerail reconcile {found.attempt_id}` finds out, or says it with --state",
            )
        if not holds.release(hold_id, reason=reason, by=user_name()):
            raise UsageProblem(
                f"there is no hold {hold_id}", hint="`rerail runs ls` lists those that stand"
            )
    click.echo(f"released: {hold_id}")
    return 0


def _meant(name: str) -> tuple[str, str]:
    """The run and the task of a tape, or a task by its id."""
    path = Path(name)
    if not path.is_file():
        if path.suffix == ".tape" or "/" in name:
            raise UsageProblem(
                f"there is no tape {name}", hint="name a tape that is there, or a task by its id"
            )
        return "", name
    from rerail.tape.reader import Tape

    with Tape.open(path) as tape:
        return tape.run.run_id, tape.run.task_id


def _line(hold: "Hold") -> str:
    what = " ".join(part for part in (hold.task_id, hold.run_id) if part)
    over = f", released by {hold.released_by}: {hold.release_reason}" if hold.released else ""
    since = f"since {utc_second(hold.placed)} by {hold.placed_by}"
    return one_line(f"{hold.id}  {what}: {hold.reason} ({since}){over}")
