"""`rerail replay`: play a tape back to the same or a changed command, offline."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec import Struct

from rerail.cli.newest import newest_tape
from rerail.cli.options import (
    COMMAND,
    TAPE,
    TakesCommand,
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rerail.playback.hold import Hold
    from rerail.playback.place import Files
    from rerail.playback.report import Report
    from rerail.playback.session import ReplaySettings


class Given(Struct, frozen=True):
    """What stands on the command line of `replay`; `command` is what stands behind `--`."""

    tape: Path | None
    on_divergence: Literal["stop", "follow", "live"]
    ignored: tuple[str, ...]
    pace: str
    names: tuple[str, ...]
    pause_at: str | None
    output: Path | None
    resolved: tuple[str, ...]
    trusted: bool
    files: "Files"
    present: Path | None
    keep_files: Path | None
    force: bool
    as_json: bool
    report: Path | None
    quiet: bool
    command: list[str]


@click.command(cls=TakesCommand)
@click.argument("tape", required=False, type=TAPE)
@click.option(
    "--on-divergence",
    type=click.Choice(["stop", "follow", "live"]),
    default="stop",
    show_default=True,
    help="A request that is not on the tape is refused, gets the nearest recorded "
    "reply, or goes to its real service (model calls only).",
)
@ignore_option
@click.option(
    "--pace",
    metavar="fast|recorded|X",
    default="fast",
    show_default=True,
    help="Stream as fast as can be, as recorded, or X times as fast.",
)
@click.option(
    "--pause-at",
    metavar="N",
    help="Hold the reply to request N of the replay until Enter: attach a debugger then.",
)
@variables_option
@click.option(
    "-o",
    "--output",
    metavar="TAPE",
    type=click.Path(path_type=Path),
    help="Record the replay itself.",
)
@resolve_option("with --on-divergence live: ")
@trust_option
@files_option
@click.option(
    "--present",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="The folder that has the present files, where it is not the recorded one.",
)
@click.option(
    "--keep-workspace",
    "keep_files",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep the copy that the command worked on in this new folder.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing tape with -o.")
@report_option
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report to a file, as JSON.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing where the replay is green.")
@click.pass_context
def replay(context: click.Context, /, **words: Any) -> int:
    """Play TAPE back: the same replies in the same order, offline, at no cost.

    Without TAPE, the newest in runs/. With -- COMMAND, other code against the same tape. The exit
    status is 0 where the command followed the tape to the end, else 1; 2 where it could not start.
    """
    from rerail.playback.session import replay as replay_tape
    from rerail.tape.reader import Tape

    given = Given(**words, command=context.meta[COMMAND])
    environment = dict(os.environ)
    settings = _settings(given, environment)
    with Tape.open(given.tape or newest_tape()) as opened, output_kept(given.as_json) as ours:
        record = None
        if given.output is not None:
            from rerail.capture.replayed import ReplayRecording

            output, force = given.output, given.force
            record = partial(ReplayRecording, output, opened, environment, overwrite=force)
        done = replay_tape(opened, settings, record=record)
        _tell(done, ours if given.as_json else None, file=given.report, quiet=given.quiet)
    return 0 if done.verdict.green else 1


def _settings(given: Given, environment: "Mapping[str, str]") -> "ReplaySettings":
    if given.keep_files is not None and given.files == "in-place":
        raise UsageProblem(
            "--keep-workspace keeps a copy, and --workspace in-place makes none",
            hint="give one of them",
        )
    if given.report is not None and (given.report.is_dir() or not given.report.parent.is_dir()):
        why = "is a folder" if given.report.is_dir() else "is in a folder that is not there"
        raise UsageProblem(f"{given.report} {why}", hint="--report takes the path of a file")
    from rerail.playback.pace import Pace
    from rerail.playback.session import ReplaySettings
    from rerail.sandbox.choose import choose_sandbox

    goes_live = given.on_divergence == "live"
    return ReplaySettings(
        environment=environment,
        command=given.command,
        changed=kept_variables(given.names, environment),
        ignore=given.ignored,
        on_divergence=given.on_divergence,
        pace=Pace.parse(given.pace),
        hold=_hold(given.pause_at) if given.pause_at is not None else None,
        live=live_origins(environment, given.resolved) if goes_live else None,
        choose=choose_sandbox,
        trusted=given.trusted,
        files=given.files,
        keep_files=_new_folder(given.keep_files) if given.keep_files else None,
        present=given.present,
    )


def _new_folder(folder: Path) -> Path:
    """It is made at the end; what would keep it from being made is said now."""
    if os.path.lexists(folder) or not folder.parent.is_dir():
        why = "is there already" if os.path.lexists(folder) else "is in a folder that is not there"
        raise UsageProblem(f"{folder} {why}", hint="--keep-workspace takes a new folder")
    return folder


def _hold(number: str) -> "Hold":
    from rerail.playback.hold import Hold

    digits = number.removeprefix("r")
    if not digits.isdigit() or int(digits) == 0:
        raise UsageProblem(
            f"`{number}` is no number of a request", hint="write --pause-at 3 or --pause-at r3"
        )
    return Hold(int(digits), lambda text: click.echo(f"rerail: {text}", err=True))


def _tell(report: "Report", output: int | None, *, file: Path | None, quiet: bool) -> None:
    """The report: as JSON where it was asked for, else as text on standard error."""
    from rerail.cli.screen.report import tell
    from rerail.playback.render import render
    from rerail.playback.report import to_json

    if file is not None:
        file.write_bytes(to_json(report))
    if output is not None:
        with os.fdopen(os.dup(output), "wb") as stream:
            stream.write(to_json(report))
    elif not (quiet and report.verdict.green):
        tell(render(report))
