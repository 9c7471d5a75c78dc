"""`rerail check`: would a durable script run, and are the states on its tape what they must be."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rerail.cli.screen.texts import json_text, one_line, quantity, say, styled
from rerail.errors import UsageProblem
from rerail.script.check import Checked, answer_of, check_script
from rerail.script.recorded import read_script
from rerail.script.values import decoded
from rerail.script.verifying import StatesVerified, verify_states
from rerail.tape.opening import is_database
from rerail.tape.reader import Tape


@click.command()
@click.argument("script", type=click.Path(path_type=Path))
@click.option(
    "--given",
    metavar="NAME=JSON",
    multiple=True,
    help="A name that the host sets before the first line.",
)
@click.option(
    "--answer",
    metavar="TOOL=JSON",
    multiple=True,
    help="What a tool answers in the dry run; several for one tool come in turn.",
)
@click.option(
    "--answers",
    metavar="TAPE",
    type=click.Path(path_type=Path),
    help="Take names and answers from the tape of an earlier run.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def check(
    script: Path, given: Sequence[str], answer: Sequence[str], answers: Path | None, as_json: bool
) -> int:
    """Check a durable script before it costs anything: read, type-checked, run dry on answers.

    No tool is called. Where SCRIPT is a tape, its script is run again from its recorded answers,
    and each saved state compared with what it must be. The exit status is 1 where anything is
    found.
    """
    if is_database(script):
        if given or answer or answers:
            what = "a tape has its own names and answers"
            raise UsageProblem(what, hint="leave --given, --answer and --answers out")
        return _tape(script, as_json=as_json)
    inputs, told = _recorded(answers)
    for text in given:
        name, value = _pair(text, "--given")
        inputs[name] = value
    added: dict[str, list[Any]] = {}
    for text in answer:
        tool, value = _pair(text, "--answer")
        added.setdefault(tool, []).append(value)
    code = _read(script)
    checked = check_script(code, name=script.name, inputs=inputs, answers=told | added)
    if as_json:
        say(json_text({"script": str(script), **asdict(checked)}))
    else:
        _print(script, checked)
    return int(bool(checked.findings))


def _tape(path: Path, *, as_json: bool) -> int:
    with Tape.open(path) as tape:
        verified = verify_states(tape)
    if as_json:
        say(json_text({"tape": str(path), "well": verified.well, **asdict(verified)}))
    else:
        _print_verified(path, verified)
    return int(not verified.well)


def _recorded(tape: Path | None) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The names and the answers of an earlier run."""
    if tape is None:
        return {}, {}
    with Tape.open(tape) as opened:
        recorded = read_script(opened)
        told: dict[str, list[Any]] = {}
        for one in [*recorded.inherited, *recorded.told]:
            if one.kind == "tool" and not one.raised:
                told.setdefault(one.name, []).append(decoded(one.value))
        return dict(recorded.inputs), told


def _pair(text: str, option: str) -> tuple[str, Any]:
    try:
        return answer_of(text)
    except ValueError as error:
        hint = f"""write {option} 'think={{"content": "done"}}'"""
        raise UsageProblem(f"`{text}` is no NAME=JSON", hint=hint) from error


def _read(script: Path) -> str:
    try:
        return script.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"{script} is no text", hint="name the script's file") from error


def _print(script: Path, checked: Checked) -> None:
    for found in checked.findings:
        mend = f"; {found.mend}" if found.mend else ""
        place = styled(f"{script}:{found.line}:{found.column}:", bold=True)
        say(f"{place} {one_line(f'{found.what}{mend}')}")
    if checked.findings and not checked.calls:
        return
    calls = quantity(len(checked.calls), "call of a tool", "calls of tools")
    if checked.ran and not checked.findings:
        say(f"{script}: nothing found; it ran dry to its end, {calls}")
    elif checked.stopped:
        say(one_line(f"{script}: nothing found; it ran dry up to where, {checked.stopped}"))
        say("  give one with --answer TOOL=JSON")


def _print_verified(path: Path, verified: StatesVerified) -> None:
    for number in verified.differing:
        say(f"{path}: the state of pause {number} is not what the script and its answers make it")
    if verified.diverged:
        say(one_line(f"{path}: {verified.diverged}"))
    if verified.other_engine:
        states = quantity(verified.uncompared, "state")
        what = f"{states} by {verified.other_engine} cannot be compared; the script comes there"
        say(one_line(f"{path}: {what}"))
    if verified.well:
        say(f"{path}: {quantity(verified.same, 'state')} as the script and its answers make them")
