"""`rerail test`: make a regression test out of a tape."""

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rerail.cli.options import COMMAND, TAPE, TakesCommand
from rerail.cli.screen.texts import json_text, one_line, say
from rerail.cli.trace.linked import linked_test
from rerail.cli.trace.shared import by_option, own_key, write
from rerail.errors import NotOnTape, UsageProblem
from rerail.tape.reader import Tape
from rerail.trace.case import Case

if TYPE_CHECKING:
    from rerail.testing.verdicts import Expect


_SHOWN: Final = 200


@click.command(cls=TakesCommand)
@click.argument("tape", type=TAPE)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    default="tests",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where the test goes, with its tape in DIR/tapes.",
)
@click.option("--name", help="What the test is called; by default as the tape's task.")
@click.option(
    "--at",
    metavar="rN|sN|end",
    help="Where the run went wrong: a request, a model call, or what it ended with.",
)
@click.option(
    "--expect",
    type=click.Choice(["avoid", "reproduce", "follow"]),
    help="Pass where today's code does not do that again, where it does, or where it follows the "
    "whole tape.",
)
@click.option(
    "--case",
    "folder_of_case",
    metavar="CASE",
    type=click.Path(path_type=Path),
    help="The case of this run: it says where it went wrong, and is linked to the test.",
)
@by_option
@click.option("--force", is_flag=True, help="Replace a test of that name.")
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON document: the files, what is tested."
)
@click.pass_context
def test(
    context: click.Context,
    tape: Path,
    folder: Path,
    name: str | None,
    at: str | None,
    expect: "Expect | None",
    folder_of_case: Path | None,
    by: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Make a pytest test of TAPE: it is played to today's code, offline, each time it runs.

    A test of a run that went wrong passes where today's code follows the tape up to there and does
    not do that again. A run that ended well makes a test that follows it to the end. After --,
    the command to play it to, if it is not the recorded one.
    """
    from rerail.testing.regression import Regression

    case = Case.open(folder_of_case, own_key) if folder_of_case is not None else None
    with Tape.open(tape) as opened:
        if case is not None:
            at = at or diagnosed_at(case)
            if not (at or expect) and _ended_well(opened) and not _decided(case):
                raise UsageProblem(
                    "the case has no first divergence, and the recorded command ended with 0",
                    hint="say where it went wrong: --at s5, or --at end",
                )
        where, wanted = _what(opened, at, expect)
        command = context.meta[COMMAND] or opened.run.argv
        if not command:
            hint = "name one after `--`; a durable script is forked from a pause instead"
            raise NotOnTape(f"there is no command on {tape} to play it to", hint=hint)
        named = str(folder_of_case) if folder_of_case is not None else ""
        made = Regression(name or opened.run.task_id, command, wanted, where, named)
        file, data = made.write(opened, folder, project=Path.cwd(), overwrite=force)
        _warn_of_a_stranger(opened, command)
        if case is not None:
            write(case, "test", by, linked_test(file, case))
        if as_json:
            told = {"test": str(file), "tape": str(data), "tape_id": opened.id}
            say(json_text({**told, "expect": wanted, "at": where, "command": command}))
        else:
            say(one_line(f"{file} and {data}"))
            click.echo(f"rerail: run it with `pytest {shlex.quote(str(file))}`", err=True)
    return 0


def _warn_of_a_stranger(tape: Tape, command: list[str]) -> None:
    """A test is trusted as the code beside it is: whose tape it is must be said before it runs."""
    from rerail.playback.strangers import files_are_known

    if not files_are_known(tape, os.environ):
        click.echo(
            "rerail: this tape was not recorded by you on this machine, and its test runs "
            f"{one_line(shlex.join(command))[:_SHOWN]} in the files it holds: "
            f"look at it first (`rerail show {shlex.quote(str(tape.path))}`)",
            err=True,
        )


def _decided(case: Case) -> bool:
    """Whether the case's diagnosis names a first divergence, be it one of no request."""
    diagnosis = case.last("diagnosis")
    return diagnosis is not None and diagnosis.body.get("first") is not None


def diagnosed_at(case: Case) -> str | None:
    """The last request or model call that the case's diagnosis shows, if it decided on one."""
    diagnosis = case.last("diagnosis")
    first = diagnosis.body.get("first") if diagnosis else None
    refs = [item["ref"] for item in (first or {}).get("evidence", ())]
    return next((ref for ref in reversed(refs) if re.fullmatch(r"[rs]\d+", ref)), None)


def _ended_well(tape: Tape) -> bool:
    return tape.ended is not None and tape.ended.status == 0


def _what(tape: Tape, at: str | None, expect: "Expect | None") -> "tuple[str, Expect]":
    """Where it went wrong, and what is expected of today's code."""
    failed = not _ended_well(tape)
    wanted: Expect = expect or ("avoid" if failed or at else "follow")
    if at is None and wanted != "follow" and not failed:
        raise UsageProblem(
            "the recorded command ended with 0: nothing says where it went wrong",
            hint="name the request with --at r6 (see `rerail why`, `rerail diff`)",
        )
    where = at or "end"
    if where != "end":
        _must_be_there(tape, where)
    return where, wanted


def _must_be_there(tape: Tape, at: str) -> None:
    if re.fullmatch(r"[rs][1-9][0-9]{0,8}", at) is None:
        raise UsageProblem(f"`{at}` is no request", hint="write --at r6, --at s3 or --at end")
    from rerail.llm.numbered import model_calls
    from rerail.tape.exchange import exchanges

    found = exchanges(tape)
    there = {item.exchange_id for item in found}
    if at[0] == "s":
        calls = model_calls(tape, found).steps.values()
        there = {step for attempt in calls for step in attempt.steps}
    if int(at[1:]) not in there:
        raise NotOnTape(f"there is no {at} on this tape", hint=f"see `rerail show {tape.path}`")
