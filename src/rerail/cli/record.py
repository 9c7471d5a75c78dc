"""`rerail record`: run a command and keep everything on a tape."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from rerail.cli.held import despite_option, went_on
from rerail.cli.new_tape import (
    force_option,
    make_folder_of,
    output_option,
    run_option,
    unnamed_tape,
)
from rerail.cli.options import (
    COMMAND_SETTINGS,
    kept_variables,
    log_event,
    own_failures_are,
    present_folder,
    warn_of_secrets,
)
from rerail.cli.origins import origin_map, reach, resolve_map, resolve_option
from rerail.cli.screen.complaint import complain, say_aside
from rerail.errors import UsageProblem

if TYPE_CHECKING:
    from rerail.capture.folders import Folders
    from rerail.capture.keeping import KeptTape
    from rerail.capture.session import RecordSettings
    from rerail.tape.records import Event

FAILED = 125
"""The exit status where rerail itself failed, as `env` and `timeout` have it."""


class RecordCommand(click.Command):
    """Wrong options are told apart from an end of the command's with status 2 as well."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            hint = f"`{ctx.command_path} --help` shows the options"
            if isinstance(error, click.MissingParameter):
                hint = f"write it after `--`: `{ctx.command_path} -- python3 agent.py`"
            problem = UsageProblem(error.format_message(), hint=hint)
            problem.exit_code = FAILED
            raise problem from error


class Given(Struct, frozen=True):
    """What stands on the command line of `record`."""

    tape: Path | None
    names: tuple[str, ...]
    task_id: str
    run_id: str
    resolved: tuple[str, ...]
    upstream_proxy: str | None
    client_certificate: Path | None
    listens: tuple[str, ...]
    upstreams: tuple[str, ...]
    workspace: Path | None
    also: tuple[Path, ...]
    included: tuple[str, ...]
    excluded: tuple[str, ...]
    no_workspace: bool
    on_record_failure: str
    watch: bool | None
    no_clock: bool
    no_random: bool
    no_children: bool
    no_facts: bool
    despite: str
    force: bool
    quiet: bool
    command: tuple[str, ...]


@click.command(cls=RecordCommand, context_settings=COMMAND_SETTINGS)
@output_option
@click.option(
    "-e",
    "--env",
    "names",
    metavar="NAME[=VALUE]",
    multiple=True,
    help="Keep (and set) a variable; nothing else of the environment is.",
)
@click.option("--task", "task_id", metavar="ID", default="", help="What the run is an attempt at.")
@run_option
@resolve_option()
@click.option(
    "--upstream-proxy",
    metavar="URL",
    help="Reach origins through this proxy, not the environment's.",
)
@click.option(
    "--client-cert",
    "client_certificate",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Show origins this certificate and key (PEM).",
)
@click.option(
    "--listen",
    "listens",
    metavar="[ADDR:]PORT",
    multiple=True,
    help="Stand for an origin on this port: the base URL of a client that takes one. "
    "One --upstream for each.",
)
@click.option(
    "--upstream",
    "upstreams",
    metavar="URL",
    multiple=True,
    help="The origin that a --listen stands for.",
)
@click.option(
    "--workspace",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Snapshot this folder, whichever it is; without it, the current one.",
)
@click.option(
    "--also",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Snapshot this folder too.",
)
@click.option(
    "--include",
    "included",
    metavar="PATTERN",
    multiple=True,
    help="Snapshot what would be left out: .env, node_modules, docs/*.key.",
)
@click.option(
    "--exclude", "excluded", metavar="PATTERN", multiple=True, help="Leave this out of snapshots."
)
@click.option("--no-workspace", is_flag=True, help="Take no snapshots of any folder.")
@click.option(
    "--on-record-failure",
    type=click.Choice(["refuse", "continue"]),
    default="refuse",
    show_default=True,
    help="What happens to traffic once the tape cannot be written.",
)
@click.option(
    "--watch/--no-watch",
    default=None,
    help="Have the kernel tell of connections that pass the recorder by. Where this is on, sudo "
    "does not work for ordinary users; so it is off by itself where there is one.",
)
@click.option("--no-clock", is_flag=True, help="Do not keep the times that the command reads.")
@click.option(
    "--no-random",
    is_flag=True,
    help="Leave random numbers alone: neither a seed nor entropy is kept.",
)
@click.option("--no-children", is_flag=True, help="Leave out what child processes say.")
@click.option("--no-facts", is_flag=True, help="Leave out facts about this machine.")
@despite_option
@force_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end.")
@click.argument("command", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
@own_failures_are(FAILED)
def record(context: click.Context, /, **words: Any) -> int:
    """Run COMMAND and keep everything it asks, is told and does on a tape.

    The terminal and the exit status are the command's own.
    """
    from rerail.capture.session import record as record_run

    given = Given(**words)
    settings = _settings(given, dict(os.environ), log=log_event if context.obj else None)
    warn_of_secrets(settings.kept)
    make_folder_of(settings.tape)
    ending, kept = record_run(settings)
    if kept.failed is not None:
        complain(kept.failed.what, kept.failed.hint)
        return ending.status or FAILED
    if not given.quiet:
        _say_what_was_kept(kept, named=given.tape is not None)
    return ending.status


def _settings(
    given: Given, environment: dict[str, str], log: "Callable[[Event], None] | None"
) -> "RecordSettings":
    from rerail.capture.session import RecordSettings

    # A run that is given no id is nobody's yet.
    identified = bool(given.task_id or given.run_id)
    met = (
        went_on(environment, run_id=given.run_id, task_id=given.task_id, despite=given.despite)
        if identified
        else ()
    )
    tape, cwd = given.tape or unnamed_tape(), present_folder()
    folders, no_folders = _folders(given, tape, cwd, environment)
    return RecordSettings(
        command=list(given.command),
        tape=tape,
        cwd=cwd,
        environment=environment,
        kept=kept_variables(given.names, environment),
        run_id=given.run_id,
        task_id=given.task_id,
        upstream=reach(
            environment,
            overrides=resolve_map(given.resolved),
            proxy=given.upstream_proxy,
            client_certificate=given.client_certificate,
        ),
        reverse=origin_map(given.listens, given.upstreams),
        overwrite=given.force,
        facts=not given.no_facts,
        clock=not given.no_clock,
        random=not given.no_random,
        children=not given.no_children,
        go_on_unrecorded=given.on_record_failure == "continue",
        log=log,
        folders=folders,
        no_folders=no_folders,
        watch=given.watch,
        went_on=met,
    )


def _folders(
    given: Given, tape: Path, cwd: Path, environment: Mapping[str, str]
) -> "tuple[Folders | None, str]":
    """The folders to be snapshotted, or why there are none."""
    from rerail.capture.folders import Folders
    from rerail.workspace.seen import Seen

    if given.no_workspace and (given.workspace or given.also):
        what = "--no-workspace keeps no files, and --workspace and --also name some"
        raise UsageProblem(what, hint="give one of them")
    if given.no_workspace:
        return None, "no: --no-workspace was given"
    folder, why = _folder(given.workspace, cwd, environment)
    if folder is None:
        return None, why
    seen = [Seen.itself(folder), *(Seen.itself(place.resolve(), also=True) for place in given.also)]
    return Folders(seen, given.included, given.excluded, tape), why


def _folder(
    named: Path | None, cwd: Path, environment: Mapping[str, str]
) -> tuple[Path | None, str]:
    """The folder to be snapshotted, or why there is none: one that is too much must be named."""
    from rerail.capture.folders import refused

    if named is not None:
        return named.resolve(), ""
    temporary = environment.get("TMPDIR", "/tmp")  # noqa: S108 - compared, not used
    why = refused(cwd, home=environment.get("HOME", ""), temporary=temporary)
    if not why:
        return cwd, ""
    click.echo(f"rerail: {cwd} is not snapshotted: {why}", err=True)
    click.echo("hint: name it with `--workspace DIR`, or say `--no-workspace`", err=True)
    return None, f"no: {why}"


def _say_what_was_kept(kept: "KeptTape", *, named: bool) -> None:
    from rerail.cli.screen.texts import quantity, size_text

    facts = f"{quantity(kept.exchanges, 'exchange')}, {size_text(kept.size)}"
    say_aside(f"rerail: {'kept' if named else 'kept as'} {kept.tape} ({facts})")
    if kept.passed:
        program, target = kept.passed[0]
        ways = quantity(len(kept.passed), "connection")
        say_aside(
            f"rerail: {ways} passed the recorder by, not on the tape: "
            f"{program} to {target}{', …' if len(kept.passed) > 1 else ''}"
        )
