"""`rerail approve`: what waits for a word, and the word: for one proposal on one target."""

import json
import os
from typing import TYPE_CHECKING, Any

import click

from rerail.cli.screen.texts import one_line, utc_second
from rerail.errors import UsageProblem

if TYPE_CHECKING:
    from rerail.holds import Approval, Holds


@click.command()
@click.argument("approval_id", metavar="[ID]", required=False)
@click.option("--refuse", is_flag=True, help="Refuse it; take back an unused grant.")
@click.option("--reason", metavar="TEXT", default="", help="Why, for the tape.")
@click.option("--all", "everything", is_flag=True, help="List those that are decided too.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def approve(
    approval_id: str | None, refuse: bool, reason: str, everything: bool, as_json: bool
) -> int:
    """Grant or refuse the approval ID; without one, list what waits."""
    from rerail.holds import Holds

    with Holds.open(dict(os.environ)) as holds:
        if approval_id is None:
            _list(_waiting(holds.approvals(), everything), holds, as_json)
            return 0
        found = holds.approval(approval_id)
        if found is None:
            raise UsageProblem(
                f"nobody asks for {approval_id}", hint="`rerail approve` lists what waits"
            )
        from rerail.task.approval import decide

        decide(holds, found, grant=not refuse, how="command", reason=reason)
        what = "refused" if refuse else "granted"
        click.echo(f"{what}: {_line(found)}")
    return 0


def _waiting(found: "list[Approval]", everything: bool) -> "list[Approval]":
    from rerail.clock import wall_ns

    now = wall_ns()
    waits = [item for item in found if item.state == "waiting" and item.expires > now]
    return found if everything else waits


def _list(found: "list[Approval]", holds: "Holds", as_json: bool) -> None:
    if as_json:
        values = [_values(item) | {"yours": holds.is_own(item)} for item in found]
        click.echo(json.dumps(values, indent=2, ensure_ascii=False))
        return
    for item in found:
        state = item.state if holds.is_own(item) else "not yours"
        click.echo(f"{state:<10} {_line(item)}")
    if not found:
        click.echo("nothing waits for a word")


def _line(item: "Approval") -> str:
    what = item.summary or f"sha256:{item.proposal[:12]}"
    until = utc_second(item.expires)
    return one_line(f"{item.id}  {item.task_id}: {what} on {item.target}, until {until}")


def _values(item: "Approval") -> dict[str, Any]:
    return {
        "approval_id": item.id,
        "state": item.state,
        "run_id": item.run_id,
        "task_id": item.task_id,
        "proposal_ref": f"sha256:{item.proposal}",
        "target": item.target,
        "changes": item.summary,
        "expires": utc_second(item.expires),
        "deciders": item.deciders,
        "decided_by": item.decided_by,
        "how": item.how,
        "tape": item.tape,
    }
