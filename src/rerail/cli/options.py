"""Options that several verbs share: how their text is read, and what is said when it cannot be."""

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import click

from rerail.cli.screen.complaint import of_the_system
from rerail.errors import RerailError, UsageProblem

if TYPE_CHECKING:
    from rerail.tape.records import Event

TAPE: Final = click.Path(path_type=Path, readable=False)
"""A tape's path; whoever opens it says what keeps it from being read."""

COMMAND_SETTINGS: Final[dict[str, Any]] = {"allow_interspersed_args": False}
"""A verb that takes a command: what stands behind the command's name is the command's own."""


class TakesCommand(click.Command):
    """A verb whose own words end at `--`; what follows is a command, in `context.obj.command`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, dashes, command = args, "", []
        if "--" in args:
            at = args.index("--")
            own, dashes, command = args[:at], "--", args[at + 1 :]
        if dashes and not command:
            raise UsageProblem("there is no command after `--`", hint="write it after `--`")
        ctx.meta[COMMAND] = command
        try:
            return super().parse_args(ctx, own)
        except click.UsageError as error:
            if dashes or "unexpected extra argument" not in error.format_message():
                raise
            hint = f"a command goes after `--`: `{ctx.command_path} … -- COMMAND`"
            raise UsageProblem(error.format_message(), hint=hint) from error

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


COMMAND: Final = "rerail.command"
"""Where `TakesCommand` leaves the command, in `context.meta`."""

_LOOKS_SECRET: Final = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)

Parameters = ParamSpec("Parameters")
Verb = TypeVar("Verb", bound=Callable[..., Any])


files_option = click.option(
    "--workspace",
    "files",
    type=click.Choice(["present", "recorded", "in-place"]),
    default="present",
    show_default=True,
    help="The recorded files with those on top that have changed since, the recorded files alone, "
    "or the folder itself, which is then written.",
)
"""Which files a command works on that is replayed; `rerail.playback.place.Files`."""

variables_option = click.option(
    "-e",
    "--env",
    "names",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a variable otherwise than recorded.",
)
ignore_option = click.option(
    "--ignore",
    "ignored",
    metavar="PATH",
    multiple=True,
    help="A field that need not be equal: messages[*].id, header:x-run, query:t.",
)
trust_option = click.option(
    "--trust",
    "trusted",
    is_flag=True,
    help="Run what the tape says, though you did not record it on this machine.",
)
report_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="The report on standard output; the command's own goes to standard error.",
)


def check_options(verb: Verb) -> Verb:
    """`--check` and what goes with it: how good the files of a step are (`rewind.scores`)."""
    for option in (
        click.option(
            "--uncontained",
            is_flag=True,
            help="Let the check use the network and write outside its copy.",
        ),
        click.option(
            "--check-limit",
            "limit",
            metavar="SECONDS",
            type=click.FloatRange(min=0, min_open=True),
            help="A run of the check is ended after so long and is no score; by default 300.",
        ),
        click.option(
            "-j",
            "--jobs",
            metavar="N",
            type=click.IntRange(min=1),
            help="So many at once; by default as many as there are cores.",
        ),
        click.option(
            "--count",
            metavar="PATTERN",
            help="Lines of the check's output with this regular expression are its errors; "
            "without it, an exit status other than 0 is one.",
        ),
        click.option(
            "--check",
            metavar="COMMAND",
            help="Run this in a copy of the folder as it was at each step: it says the score.",
        ),
    ):
        verb = option(verb)
    return verb


def own_failures_are(
    status: int,
) -> Callable[[Callable[Parameters, int]], Callable[Parameters, int]]:
    """Rerail's own errors end a verb with this status, which no command is likely to have."""

    def decorate(verb: Callable[Parameters, int]) -> Callable[Parameters, int]:
        @functools.wraps(verb)
        def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> int:
            try:
                return verb(*args, **kwargs)
            except RerailError as error:
                if error.exit_code < status:
                    error.exit_code = status
                raise
            except OSError as error:
                problem = of_the_system(error)
                problem.exit_code = status
                raise problem from error

        return wrapped

    return decorate


def present_folder() -> Path:
    """The current folder. Raises `UsageProblem` where it has been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageProblem(
            "the current folder is not there any more", hint="change to a folder that exists"
        ) from error


def kept_variables(names: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of `-e NAME` and `-e NAME=VALUE`; a name that is not set is left out."""
    kept: dict[str, str] = {}
    for item in names:
        name, given, value = item.partition("=")
        if not name:
            raise UsageProblem(
                f"`-e {item}` names no variable", hint="write -e NAME or -e NAME=VALUE"
            )
        if given:
            kept[name] = value
        elif name in environment:
            kept[name] = environment[name]
        else:
            click.echo(f"rerail: the variable {name} is not set, so it is not kept", err=True)
    return kept


def warn_of_secrets(kept: Mapping[str, str]) -> None:
    """Named variables are kept as they are; a name that sounds like a key is worth a word."""
    for name in kept:
        if _LOOKS_SECRET.search(name):
            click.echo(f"rerail: {name} looks like a secret and is kept on the tape", err=True)
            click.echo(
                f"hint: leave out `-e {name}`; the command sees the variable all the same", err=True
            )


def log_event(event: "Event") -> None:
    """A line of the `--debug` log: an event as it goes to the tape, credentials replaced."""
    click.echo(f"rerail: {event}", err=True)
