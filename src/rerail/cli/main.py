"""The command `rerail`: a table of verbs, loaded when called, and one place for errors."""

import gc
import os
import sys
from collections.abc import Mapping
from itertools import takewhile
from typing import Final

import click
from click.exceptions import NoArgsIsHelpError

from rerail import __version__
from rerail.cli.leaving import READER_GONE, leave
from rerail.cli.screen.complaint import complain, of_the_system
from rerail.cli.verbs import Table, Verbs
from rerail.errors import RerailError

# Help comes from this table, so that neither `--help` nor a verb loads another verb.
VERBS: Final[Table] = {
    "record": ("rerail.cli.record:record", "Run a command and keep everything on a tape."),
    "replay": ("rerail.cli.replay:replay", "Play a tape back to the same or a changed command."),
    "rewind": ("rerail.cli.rewind:rewind", "Back to a step, a hint, and on from there, live."),
    "experiment": ("rerail.cli.experiment:experiment", "Failed runs rewound, and the receipt."),
    "show": ("rerail.cli.show:show", "Look at a tape: summary, exchanges, one exchange whole."),
    "steps": ("rerail.cli.steps:steps", "The conversation: what each model call heard and said."),
    "why": ("rerail.cli.why:why", "Where a value came from: the first record that holds it."),
    "diff": ("rerail.cli.diff:diff", "Two tapes beside each other, down to where they part."),
    "test": ("rerail.cli.test:test", "Make a regression test out of a tape."),
    "check": ("rerail.cli.check:check", "Would a durable script run? Before it costs anything."),
    "trace": ("rerail.cli.trace:trace", "Investigate a failed run from its records."),
    "verify": ("rerail.cli.verify:verify", "Check that a tape's bytes agree with each other."),
    "run": ("rerail.cli.run:run", "An agent's task with an independent check, from a contract."),
    "approve": ("rerail.cli.approve:approve", "Let one proposal be applied to one target."),
    "reconcile": ("rerail.cli.reconcile:reconcile", "What an action did whose outcome is unknown."),
    "runs": ("rerail.cli.runs:runs", "Holds on tasks: what stands, one more, one less."),
    "import": (
        "rerail.cli.import_:import_",
        "Read another program's file: what it shows.",
    ),
    "doctor": ("rerail.cli.doctor:doctor", "Try what recording and replaying need here."),
    "demo": ("rerail.cli.demo:demo", "The main job, end to end, on a model of its own."),
}

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Record and play back": ("record", "replay"),
    "Look": ("show", "steps", "why", "diff", "verify", "import"),
    "Go back, and keep": ("rewind", "experiment", "check", "test"),
    "Investigate": ("trace",),
    "Tasks with an independent check": ("run", "approve", "reconcile", "runs"),
    "This machine": ("doctor", "demo"),
}
"""The verbs as the help lists them, by what a person wants."""

GARBAGE_LOOKED_FOR: Final = (10_000, 20, 20)
"""When Python looks for cycles of garbage. With its own 700 new objects it looks a hundred times
while modules are loaded, which stay, and again and again through what waits for the disk."""


class Program(Verbs):
    """The verbs of the program."""

    table = VERBS
    groups = GROUPS


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rerail")
@click.option("--debug", is_flag=True, help="Log what happens, and show tracebacks, on stderr.")
@click.pass_context
def program(context: click.Context, debug: bool) -> None:
    """The flight recorder and time machine for AI agent runs."""
    context.obj = debug


def hold_streams() -> None:
    """Whoever closed one of the three has it closed in the command as well, and none of our files
    takes its number: the command would write into a tape."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)  # the lowest number that is free
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.dup(number), "w", encoding="utf-8"))


def main() -> None:
    """Run the command line and exit with its status."""
    gc.set_threshold(*GARBAGE_LOOKED_FOR)
    hold_streams()
    leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and return its status (the table in docs/reference/cli.md)."""
    debug = "--debug" in takewhile(lambda word: word.startswith("-"), arguments)
    try:
        status = program.main(arguments, prog_name="rerail", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except RerailError as error:
        if debug:
            raise
        complain(error.what, error.hint)
        return error.exit_code
    except NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        path = context.command_path if context else " ".join(["rerail", *arguments[:1]])
        complain(error.format_message(), f"`{path} --help` shows the options")
        return 2
    except click.Abort:
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`rerail show T | head`): nothing to complain about.
        sys.stderr.close()
        return READER_GONE
    except RecursionError:
        if debug:
            raise
        # JSON that a stranger nested just as deep as it can be read, and deeper than written.
        complain(
            "what is there is nested deeper than can be shown",
            "`rerail show TAPE rN --raw` writes the bytes of a reply as they are",
        )
        return 1
    except OSError as error:
        if debug:
            raise
        problem = of_the_system(error)
        complain(problem.what, problem.hint)
        return problem.exit_code
