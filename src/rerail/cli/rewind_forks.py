"""`rerail rewind -n`: the same rewind several times, side by side, and a table of the forks."""

import errno
import os
import shlex
import sys
from itertools import count
from pathlib import Path
from typing import Any, Final

import click

from rerail.cli.options import COMMAND
from rerail.cli.screen.progress import progress
from rerail.cli.screen.texts import json_text, quantity, say, table
from rerail.cli.shown.scores import errors_text
from rerail.rewind.choice import Chosen
from rerail.rewind.plan import planned
from rerail.rewind.render import scores_text
from rerail.rewind.report import RewindReport
from rerail.rewind.session import scored
from rerail.rewind.side_by_side import Fork, Outcome, fork_side_by_side
from rerail.tape.failure import cannot_write
from rerail.tape.reader import Tape
from rerail.tape.records import Edit
from rerail.workspace.kept import Kept

_OURS: Final = ("to", "forks", "output", "as_json", "jobs")
_HEADERS: Final = ("fork", "ended", "calls", "in", "out", "errors")


def make_forks(
    context: click.Context, tape: Tape, chosen: Chosen, edits: list[Edit], tapes: list[Path]
) -> int:
    """Run the command line of this context once for each tape; returns the exit status.

    Raises UserError where the edits cannot be made: it is said once.
    """
    same_agent = not context.meta[COMMAND]
    planned(tape, chosen.step, edits, same_agent=same_agent)
    # Without snapshots there are no copies: they would be in each other's way.
    jobs = (context.params["jobs"] or 0) if Kept(tape).all else 1
    given = [*_words(context), "--to", f"s{chosen.step}", "--json"]
    command = context.meta[COMMAND]

    def words(fork: Fork) -> list[str]:
        program = [sys.executable, "-m", "rerail.cli", "rewind", *given, "-o", str(fork.tape)]
        return [*program, *(["--", *command] if command else [])]

    with progress("rewinding") as told:
        forks = [Fork(tape) for tape in tapes]
        found = fork_side_by_side(forks, words, os.environ, jobs=jobs, told=told)
    if context.params["as_json"]:
        say(json_text(_values(chosen, found)))
    else:
        _print(chosen, found)
        _tell_what_next(tape.path, found)
    return 0 if any(one.report and one.report.ended_well for one in found) else 1


def tapes_for(stem: Path, number: int, *, overwrite: bool) -> list[Path]:
    """`run.s4-1.tape`, `run.s4-2.tape` …: the first that are free. Raises TapeWriteFailed."""
    folder = stem.parent
    if not folder.is_dir():
        code = errno.ENOTDIR if folder.exists() else errno.ENOENT
        raise cannot_write(stem, OSError(code, os.strerror(code)))
    names = (stem.with_name(f"{stem.name.removesuffix('.tape')}-{n}.tape") for n in count(1))
    free = (name for name in names if overwrite or not (name.exists() or Fork(name).log.exists()))
    return [next(free) for _ in range(number)]


def _words(context: click.Context) -> list[str]:
    """The words of this command line again, without those that a fork has of its own."""
    words: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name in _OURS or value is None or value == parameter.get_default(context):
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif isinstance(parameter, click.Option):
            words += _option_words(parameter, value)
    return words


def _option_words(option: click.Option, value: Any) -> list[str]:
    name = max(option.opts, key=len)
    if option.is_flag:
        return [name] if value else []
    values = value if option.multiple else [value]
    return [f"{name}={one}" for one in values]


def _print(chosen: Chosen, found: list[Outcome]) -> None:
    well = sum(bool(one.report and one.report.ended_well) for one in found)
    why = f", {chosen.why}" if chosen.why else ""
    click.echo(
        f"rerail: {quantity(len(found), 'fork')} at s{chosen.step}{why}; {well} ended well",
        err=True,
    )
    if chosen.scores is not None:
        scores = scores_text(scored(chosen.scores), chosen.step)
        click.echo(f"  scores: {scores}", err=True)
    table(
        [_row(one) for one in found],
        headers=_HEADERS,
        right=(2, 3, 4, 5),
        yielding=(1,),
        failed=[not (one.report and one.report.ended_well) for one in found],
    )


def _tell_what_next(tape: Path, found: list[Outcome]) -> None:
    well = [one.fork.tape for one in found if one.report and one.report.ended_well]
    parent, folder = shlex.quote(str(tape)), shlex.quote(str(found[0].fork.tape.parent))
    click.echo("\nnext:", err=True)
    if well:
        best = shlex.quote(str(well[0]))
        click.echo(f"  rerail show {best} --files end --extract DIR", err=True)
        click.echo(f"  rerail diff {parent} {best}", err=True)
    click.echo(f"  rerail show {folder}", err=True)


def _row(one: Outcome) -> tuple[str, ...]:
    report = one.report
    if report is None:
        return (str(one.fork.tape), one.failed, "", "", "", "")
    live = report.live
    counts = (live.turns, live.input_tokens, live.output_tokens)
    return (
        str(one.fork.tape),
        _ended(report),
        *("" if number is None else str(number) for number in counts),
        errors_text(report.check.errors_at_end).removesuffix(" errors").removesuffix(" error")
        if report.check
        else "",
    )


def _ended(report: RewindReport) -> str:
    if not report.reached:
        return f"did not come to s{report.step}"
    if report.ended_well:
        return "well"
    status = report.replay.ended.status
    return f"status {status}" if status else "with errors"


def _values(chosen: Chosen, found: list[Outcome]) -> dict[str, Any]:
    from msgspec import to_builtins

    return {
        "step": chosen.step,
        "chosen": chosen.why,
        "forks": [
            {
                "tape": str(one.fork.tape),
                "log": str(one.fork.log),
                "failed": one.failed or None,
                "report": to_builtins(one.report) if one.report else None,
            }
            for one in found
        ],
    }
