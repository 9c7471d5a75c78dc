"""`rerail verify`: do a tape's bytes agree with each other; `--repair` writes what can be saved."""

from pathlib import Path

import click

from rerail.cli.options import TAPE
from rerail.cli.screen.texts import block, json_text, say, styled
from rerail.tape.reader import Tape
from rerail.tape.repair import Repaired, repair
from rerail.tape.seal import verify as verify_tape
from rerail.tape.verification import Verification


@click.command()
@click.argument("tape", type=TAPE)
@click.option(
    "--repair",
    "repaired",
    metavar="NEW",
    type=click.Path(path_type=Path),
    help="Write everything that can be read to a new tape; this one stays as it is.",
)
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON document.")
def verify(tape: Path, repaired: Path | None, as_json: bool) -> int:
    """Check that the bytes of TAPE agree with each other. 0 intact, 1 not, 2 unreadable.

    Nothing is written into or beside TAPE.
    """
    if repaired is not None:
        return _repair(tape, repaired, as_json=as_json)
    with Tape.open(tape) as opened:
        result = verify_tape(opened)
    _print(result, well=result.intact, as_json=as_json)
    return 0 if result.intact else 1


def _repair(tape: Path, target: Path, *, as_json: bool) -> int:
    """Save what can be saved; that something could not be is the finding."""
    done = repair(tape, target)
    _print(done, well=not done.lost, as_json=as_json)
    return 1 if done.lost else 0


def _print(result: Verification | Repaired, *, well: bool, as_json: bool) -> None:
    """A JSON document, or the verdict (in colour for a person) and what was found."""
    if as_json:
        say(json_text(result.to_dict()))
        return
    verdict, *found = block(result.to_text()).splitlines()
    say(styled(verdict, fg="green" if well else "red", bold=True))
    for line in found:
        say(line)
