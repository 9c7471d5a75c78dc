"""Where a new tape goes: `-o TAPE`, or a name by the time in `runs/`."""

import secrets
from datetime import UTC, datetime
from pathlib import Path

import click

from rerail.clock import wall_ns
from rerail.errors import UsageProblem

output_option = click.option(
    "-o",
    "--output",
    "tape",
    metavar="TAPE",
    type=click.Path(path_type=Path),
    help="Where the tape goes; without it, runs/<utc time>-<short id>.tape.",
)
force_option = click.option("--force", is_flag=True, help="Overwrite an existing tape.")
run_option = click.option(
    "--run", "run_id", metavar="ID", default="", help="The run's own identifier."
)


def unnamed_tape() -> Path:
    """Where a tape goes that was given no name."""
    when = datetime.fromtimestamp(wall_ns() / 1e9, UTC)
    tape = Path("runs") / f"{when:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}.tape"
    make_folder_of(tape)
    return tape


def make_folder_of(tape: Path) -> None:
    """The folder that a tape goes to is made; one above it that is not there is a slip.

    One called `runs` is rerail's own, and git is told so: an agent that asks for `git status` is
    not told of its tape, which a replay does not have.
    """
    folder = tape.parent
    try:
        is_new = not folder.is_dir()
        folder.mkdir(mode=0o700, exist_ok=True)
        if is_new and folder.name == "runs":
            (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise UsageProblem(
            f"cannot make the folder `{folder}`: {error.strerror}",
            hint="say with `-o TAPE` where else the tape goes",
        ) from error
