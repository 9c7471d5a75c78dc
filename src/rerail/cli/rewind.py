"""`rerail rewind`: back to a step of a tape, and on from there, live and with a hint."""

import os
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct

from rerail.cli.held import despite_option, went_on
from rerail.cli.options import (
    COMMAND,
    TAPE,
    TakesCommand,
    check_options,
    files_option,
    ignore_option,
    kept_variables,
    report_option,
    trust_option,
    variables_option,
)
from rerail.cli.origins import live_origins, resolve_option
from rerail.cli.screen.output import output_kept
from rerail.errors import UsageProblem

MOST_FORKS: Final = 100

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rerail.playback.place import Files
    from rerail.playback.session import ReplaySettings
    from rerail.rewind.choice import Chosen
    from rerail.rewind.report import RewindReport
    from rerail.tape.reader import Tape
    from rerail.tape.records import Edit, EditKind


class Given(Struct, frozen=True):
    """What stands on the command line of `rewind`; `command` is what stands behind `--`."""

    tape: Path
    to: str
    hint: str | None
    answer: str | None
    patch: Path | None
    turns: int | None
    forks: int
    allowed: tuple[str, ...]
    check: str | None
    count: str | None
    jobs: int | None
    limit: float | None
    uncontained: bool
    files: "Files"
    restore: bool
    names: tuple[str, ...]
    ignored: tuple[str, ...]
    output: Path | None
    resolved: tuple[str, ...]
    trusted: bool
    despite: str
    force: bool
    as_json: bool
    command: list[str]


@click.command(cls=TakesCommand)
@click.argument("tape", type=TAPE)
@click.option(
    "--to",
    "to",
    metavar="STEP|best|last",
    required=True,
    help="The first model call that is asked anew: 4, s4, the last one, or the last with the "
    "fewest errors.",
)
@click.option("--hint", metavar="TEXT|@FILE", help="What the model is told besides, as the user.")
@click.option(
    "--answer",
    metavar="JSON|@FILE",
    help='What a tool is to have answered, by its name: \'{"lookup": "CUST-4471"}\'.',
)
@click.option(
    "--edit-request",
    "patch",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A JSON patch (RFC 6902) of the request to the model.",
)
@click.option(
    "--turns",
    metavar="N",
    type=click.IntRange(min=1),
    help="At most so many model calls from there on; the next one is refused.",
)
@click.option(
    "-n",
    "--forks",
    metavar="N",
    type=click.IntRange(min=1, max=MOST_FORKS),
    default=1,
    help=f"Make so many forks, side by side; at most {MOST_FORKS}.",
)
@click.option(
    "--allow",
    "allowed",
    metavar="'METHOD HOST[/PATH]'",
    multiple=True,
    help="Let these requests reach their origin, though they are no model calls.",
)
@check_options
@files_option
@click.option(
    "--restore-workspace",
    "restore",
    is_flag=True,
    help="Put the files of the step in place where the run came there with others.",
)
@variables_option
@ignore_option
@click.option(
    "-o",
    "--output",
    metavar="TAPE",
    type=click.Path(path_type=Path),
    help="Where the fork's tape goes; by default beside TAPE.",
)
@resolve_option()
@trust_option
@despite_option
@click.option("--force", is_flag=True, help="Overwrite an existing tape.")
@report_option
@click.pass_context
def rewind(context: click.Context, /, **words: Any) -> int:
    """Go back to a step of TAPE and on from there, live, onto a tape of its own.

    Up to the step everything comes from the tape, offline and at no cost. From there model calls
    go to the real service; nothing else does, unless --allow names it. The exit status is 0 where
    the command then ended well, and a check found no errors; else 1; 2 where it could not start.
    """
    from rerail.cli.shown.scores import Asked, checking
    from rerail.rewind.choice import choose, read_target
    from rerail.rewind.onward import Allowed
    from rerail.rewind.session import RewindSettings
    from rerail.rewind.session import rewind as rewind_tape
    from rerail.tape.reader import Tape
    from rerail.tape.storage import keep_source

    given = Given(**words, command=context.meta[COMMAND])
    _refuse_without_a_copy(given)
    environment, target = dict(os.environ), read_target(given.to)
    asked = Asked(
        given.check,
        given.count,
        given.jobs,
        given.limit,
        uncontained=given.uncontained,
        trusted=given.trusted,
    )
    way_there = _way_there(given, environment)
    allowed = [Allowed.parse(text) for text in given.allowed]
    texts = _texts(given)
    if given.output is not None:
        keep_source(given.tape, given.output)
    with Tape.open(given.tape) as opened:
        run = opened.run
        met = went_on(environment, run_id=run.run_id, task_id=run.task_id, despite=given.despite)
        with checking(asked) as how:
            chosen = choose(opened, target, asked.parsed(), how)
        edits = _edits(chosen.step, texts)
        if given.forks > 1:
            return _forked(context, given, opened, chosen, edits)
        settings = RewindSettings(
            step=chosen.step,
            why=chosen.why,
            replay=way_there,
            output=given.output or _beside(given.tape, chosen.step, overwrite=given.force),
            edits=edits,
            turns=given.turns,
            allowed=allowed,
            overwrite=given.force,
            check=asked.parsed(),
            checking=how,
            scores=chosen.scores,
            went_on=met,
            restore=given.restore,
        )
        with output_kept(given.as_json) as ours:
            report = rewind_tape(opened, settings)
            _tell(report, ours if given.as_json else None)
    return 0 if report.ended_well else 1


def _refuse_without_a_copy(given: Given) -> None:
    needs_copy = "--restore-workspace" if given.restore else "-n" if given.forks > 1 else ""
    if needs_copy and given.files == "in-place":
        raise UsageProblem(
            f"{needs_copy} needs a copy to work in, and --workspace in-place makes none",
            hint="give one of them",
        )


def _way_there(given: Given, environment: "Mapping[str, str]") -> "ReplaySettings":
    """The replay up to the step, and where it reaches origins from there on."""
    from rerail.playback.session import ReplaySettings
    from rerail.sandbox.choose import choose_sandbox

    return ReplaySettings(
        environment=environment,
        command=given.command,
        changed=kept_variables(given.names, environment),
        ignore=given.ignored,
        live=live_origins(environment, given.resolved),
        choose=choose_sandbox,
        files=given.files,
        trusted=given.trusted,
    )


def _forked(
    context: click.Context, given: Given, tape: "Tape", chosen: "Chosen", edits: "list[Edit]"
) -> int:
    """The same rewind several times; none of the forks may take the place of the tape."""
    from rerail.cli.rewind_forks import make_forks, tapes_for
    from rerail.tape.storage import keep_source

    stem = given.output or _named(given.tape, chosen.step)
    tapes = tapes_for(stem, given.forks, overwrite=given.force)
    for one in tapes:
        keep_source(given.tape, one)
    return make_forks(context, tape, chosen, edits, tapes)


def _texts(given: Given) -> "Mapping[EditKind, str]":
    """What is to be said or changed, read where it stands in a file."""
    return {
        "hint": _text(given.hint, "hint"),
        "answer": _text(given.answer, "answer"),
        "patch": _text(f"@{given.patch}", "patch") if given.patch is not None else "",
    }


def _text(text: str | None, what: str) -> str:
    """What was given, or what stands in the file behind `@`."""
    if text is None or not text.startswith("@"):
        return text or ""
    from rerail.rewind.edits import AT_MOST, too_long

    try:
        with Path(text[1:]).open("rb") as file:
            read = file.read(AT_MOST + 1)
        if len(read) > AT_MOST:
            raise too_long(what)
        return read.decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageProblem(
            f"cannot read the {what} in {text[1:]}: {reason}",
            hint=f"write --{what} TEXT, or --{what} @FILE with a file of text",
        ) from error


def _edits(step: int, texts: "Mapping[EditKind, str]") -> "list[Edit]":
    """What is to be changed, checked: a hint stands after what else is changed."""
    from rerail.rewind.edits import Edits
    from rerail.tape.records import Edit

    order: tuple[EditKind, ...] = ("answer", "patch", "hint")
    edits = [Edit(step=step, kind=kind, text=texts[kind]) for kind in order if texts[kind]]
    Edits.of(edits)
    return edits


def _beside(tape: Path, step: int, *, overwrite: bool) -> Path:
    """`run.s4.tape` beside `run.tape`; with a number more where that is there."""
    named = _named(tape, step)
    more = (named.with_name(f"{named.stem}-{number}.tape") for number in count(2))
    places = chain([named], more)
    return next(place for place in places if overwrite or not place.exists())


def _named(tape: Path, step: int) -> Path:
    return tape.with_name(f"{tape.name.removesuffix('.tape')}.s{step}.tape")


def _tell(report: "RewindReport", output: int | None) -> None:
    from rerail.cli.screen.report import tell
    from rerail.rewind.render import lines
    from rerail.rewind.report import to_json

    if output is not None:
        with os.fdopen(os.dup(output), "wb") as stream:
            stream.write(to_json(report))
    else:
        tell("\n".join(lines(report)))
