"""`rerail steps`: the run as the conversation it was, step by step."""

from pathlib import Path

import click

from rerail.cli.conversation import print_turn, read_turns, turn_values
from rerail.cli.damage import tell_damage
from rerail.cli.numbers import Number, exchanges_of, read_number
from rerail.cli.outline import read_outline
from rerail.cli.texts import json_text, say
from rerail.errors import UsageProblem
from rerail.tape.reader import Tape


@click.command()
@click.argument("tape", type=click.Path(path_type=Path))
@click.argument("step", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document, every text whole.")
def steps(tape: Path, step: str | None, as_json: bool) -> int:
    """Show the conversation of TAPE: what each model call was newly told, and what it answered.

    One line a message; with STEP (4 or s4) that one alone, every text whole. This is a reading of
    the recorded bodies; `rerail show TAPE s4` shows them as they are.
    """
    wanted = _step(step) if step is not None else None
    with Tape.open(tape) as opened:
        outline = read_outline(opened)
        if wanted is not None:
            exchanges_of(outline, wanted)
        found = read_turns(opened, outline)
        chosen = [turn for turn in found if wanted is None or turn.step == wanted.value]
        if as_json:
            say(json_text({"turns": [turn_values(turn) for turn in chosen]}))
        else:
            for turn in chosen:
                print_turn(turn, whole=wanted is not None)
        return tell_damage(opened, outline.damage)


def _step(text: str) -> Number:
    number = read_number(f"s{text}" if text.isdigit() else text)
    if number.kind != "s":
        raise UsageProblem(f"`{text}` is no number of a step", hint="write 4 or s4")
    return number
