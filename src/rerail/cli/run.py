"""`rerail run`: an agent's task with an independent check, from a contract, in two planes."""

import json
import os
import select
import signal
import sys
import termios
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from rerail.cli.new_tape import (
    force_option,
    make_folder_of,
    output_option,
    run_option,
    unnamed_tape,
)
from rerail.cli.options import log_event
from rerail.cli.origins import reach, resolve_map, resolve_option
from rerail.cli.screen.complaint import complain, say_aside
from rerail.cli.screen.output import output_kept
from rerail.cli.screen.texts import one_line
from rerail.errors import UsageProblem

if TYPE_CHECKING:
    from rerail.holds import Approval
    from rerail.task.runner import Done


class Terminal:
    """Asks whoever sits there, and says how else it can be decided."""

    def __init__(self) -> None:
        self._typed = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    def asked(self, approval: "Approval") -> None:
        """Show what is asked."""
        from rerail.cli.facts.planes import short
        from rerail.cli.screen.texts import utc_second
        from rerail.task.approval import may_decide

        what = approval.summary or short(bytes.fromhex(approval.proposal))
        say_aside(
            f"rerail: {approval.id} waits until {utc_second(approval.expires)}: {one_line(what)} "
            f"on {approval.target}; `rerail approve {approval.id}` grants it"
        )
        if self._typed and may_decide(approval):
            self._typed = _forget_what_was_typed()
        if self._typed and may_decide(approval):
            click.echo(f"apply it to {approval.target}? [y/N] ", err=True, nl=False)

    def word(self, seconds: float, *, heard: bool) -> bool | None:
        """Wait so long for an answer; the end of the input is a no."""
        streams = [sys.stdin] if self._typed and heard else []
        if not select.select(streams, [], [], seconds)[0]:
            return None
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def _forget_what_was_typed() -> bool:
    """Nobody meant it as an answer; False where the terminal is gone.

    With this signal free, a run in the background would stop here.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except termios.error:
        return False
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return True


@click.command()
@click.argument("contract", metavar="[TASK.yaml]", type=click.Path(path_type=Path), required=False)
@output_option
@run_option
@click.option(
    "--recheck",
    metavar="TAPE|CASE",
    type=click.Path(path_type=Path),
    help="Run no agent: check the proposal of that run again, unchanged.",
)
@click.option(
    "--apply",
    "applied",
    metavar="TAPE",
    type=click.Path(path_type=Path),
    help="Run no agent: apply the proposal of that run, whose verdict was PASS.",
)
@click.option(
    "--approval", metavar="ID", default="", help="With --apply: by this approval; else ask anew."
)
@click.option("--no-wait", is_flag=True, help="Where no policy grants it, leave the question open.")
@click.option("--keep-workspace", is_flag=True, help="Leave the agent's workspace where it is.")
@resolve_option()
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@click.pass_context
def run(
    context: click.Context,
    contract: Path | None,
    tape: Path | None,
    run_id: str,
    recheck: Path | None,
    applied: Path | None,
    approval: str,
    no_wait: bool,
    keep_workspace: bool,
    resolved: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> int:
    """Run the agent of a contract, check what it proposes, ask, apply it once, read the target.

    The exit status is 0 where it was applied, or passed without a target; 1 on STOP, where the
    approval is refused or open, or the target said no; 2 where nothing was started; 3 where the
    outcome of the action is not known.
    """
    from rerail.task.runner import RunSettings, run_task

    before = signal.signal(signal.SIGTERM, _terminated)
    context.call_on_close(partial(signal.signal, signal.SIGTERM, before))
    environment = dict(os.environ)
    person = None if no_wait else Terminal()
    output = tape or unnamed_tape()
    make_folder_of(output)
    if recheck is not None or applied is not None:
        done = _follow(contract, output, recheck, applied, approval, person, force)
    elif contract is None:
        raise UsageProblem("there is no contract", hint="name its file: `rerail run task.yaml`")
    else:
        settings = RunSettings(
            contract=contract,
            tape=output,
            environment=environment,
            person=person,
            upstream=reach(environment, overrides=resolve_map(resolved)),
            overwrite=force,
            keep_workspace=keep_workspace,
            run_id=run_id,
            log=log_event if context.obj else None,
        )
        with output_kept(as_json):
            done = run_task(settings)
    _report(done, as_json)
    return done.status


def _terminated(number: int, _: FrameType | None) -> None:
    """Asked to end: what is under way is put down before it ends."""
    raise SystemExit(128 + number)


def _follow(
    contract: Path | None,
    tape: Path,
    recheck: Path | None,
    applied: Path | None,
    approval: str,
    person: Terminal | None,
    force: bool,
) -> "Done":
    from rerail.task.follow import FollowSettings, apply_stored
    from rerail.task.follow import recheck as check_again

    source = recheck or applied
    if source is None or (recheck and applied):
        raise UsageProblem(
            "--recheck and --apply do not go together", hint="check first, then apply that tape"
        )
    settings = FollowSettings(_tape_of(source), tape, dict(os.environ), contract, person, force)
    return check_again(settings) if recheck else apply_stored(settings, approval)


def _tape_of(source: Path) -> Path:
    """The tape itself, or the one that a case was opened on."""
    if not source.is_dir():
        return source
    from rerail.trace.case import Case
    from rerail.trace.sources_of_case import entries_of, must_be_as_taken_in

    first = entries_of(Case.open(source))[:1]
    must_be_as_taken_in(first, source)
    return first[0].found_at(source)


def _report(done: "Done", as_json: bool) -> None:
    if done.problem is not None:
        complain(done.problem.what, done.problem.hint)
    if as_json:
        click.echo(json.dumps(_values(done), indent=2, ensure_ascii=False))
        return
    lines = [
        ("run", f"{done.run_id} of {done.task_id}"),
        ("verdict", f"{done.verdict} by {done.rule}: {done.detail}" if done.verdict else ""),
        ("proposal", done.proposal_ref),
        ("state", _state(done)),
        ("workspace", done.workspace),
        ("tape", str(done.tape)),
    ]
    for name, value in lines:
        if value:
            click.echo(f"{name:<10} {one_line(value)}")


def _state(done: "Done") -> str:
    return f"{done.ended.state}: {done.ended.reason}" if done.ended.reason else done.ended.state


def _values(done: "Done") -> dict[str, Any]:
    return {
        "run_id": done.run_id,
        "task_id": done.task_id,
        "state": done.ended.state,
        "reason": done.ended.reason,
        "verdict": done.verdict,
        "rule": done.rule,
        "detail": done.detail,
        "proposal_ref": done.proposal_ref,
        "tape": str(done.tape),
        "tape_id": done.tape_id,
        "workspace": done.workspace,
    }
