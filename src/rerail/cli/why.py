"""`rerail why`: where a value of a run came from."""

from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from rerail.cli.newest import tape_and_value
from rerail.cli.screen.texts import duration, json_text, one_line, quantity, say, styled
from rerail.cli.shown.damage import tell_damage
from rerail.errors import RerailError, UsageProblem
from rerail.tape.reader import Tape
from rerail.trace.sources import Source, sources, sources_in
from rerail.trace.why import Place, Provenance
from rerail.trace.why import why as find

_SHOWN: Final = 12
_FOREIGN: Final = (b"{", b"[", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")
"""How JSON begins, and archives of it."""
_SPEAKERS: Final = {
    "command": "given to the run",
    "origin": "reply",
    "model": "model said",
    "agent": "agent sent",
}
_MEANS: Final = {
    "given": "it was given to the run when it began",
    "told": "the agent was told it by this reply; nothing recorded before holds it",
    "by the model": "the model said it first: nothing that it had been told holds it",
    "by the agent": "the agent brought it: no record before holds it; a file or its own code may",
    "nowhere": "it stands nowhere on this tape",
}


@click.command()
@click.argument("tape", metavar="[TAPE]", type=click.Path(path_type=Path))
@click.argument("value", metavar="VALUE", required=False)
@click.option(
    "--run", type=click.IntRange(min=1), metavar="N", help="The N-th run in an imported file."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document, every place.")
def why(tape: Path, value: str | None, run: int | None, as_json: bool) -> int:
    """Say where VALUE in the run on TAPE came from: the first record that holds it, and the later.

    It is looked for as a word in commands, named variables, requests, replies and messages, with
    what a model streamed put together. TAPE may be a file that `rerail import` reads, too; without
    TAPE it is the newest in runs/. The exit status is 1 where VALUE is nowhere.
    """
    tape, value = tape_and_value(tape, value)
    if not value.strip():
        raise UsageProblem("there is no value to look for", hint="`rerail why TAPE CUST-4471`")
    if _is_foreign(tape):
        found = find(value, _imported(tape, run))
        _say(found, as_json, imported=True)
        return int(found.origin == "nowhere")
    if run is not None:
        raise UsageProblem("--run is for imported files", hint="a tape holds one run")
    damage: list[RerailError] = []
    with Tape.open(tape) as opened:
        found = find(value, sources(opened, damaged=damage.append))
        _say(found, as_json)
        damaged = tell_damage(opened, damage)
    return damaged or int(found.origin == "nowhere")


def _is_foreign(path: Path) -> bool:
    """Whether it begins as JSON, or as an archive of it, does."""
    try:
        with path.open("rb") as opened:
            return (
                opened.read(64)
                .lstrip()
                .startswith((b"{", b"[", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"))
            )
    except OSError:
        return False


def _imported(path: Path, run: int | None) -> list[Source]:
    from rerail.formats.reading import read

    return sources_in(read(path, run=run or 0))


def _say(found: Provenance, as_json: bool, *, imported: bool = False) -> None:
    if as_json:
        say(json_text({**asdict(found), "meaning": _MEANS[found.origin]}))
    else:
        _print(found, imported)


def _print(found: Provenance, imported: bool) -> None:
    for place in found.places[:_SHOWN]:
        first = place is found.first
        say(styled(one_line(_line(place, imported)), bold=first))
    more = len(found.places) - _SHOWN
    if more > 0:
        say(f"and in {quantity(more, 'later record')}")
    if found.places:
        say()
    say(f"reading: {_MEANS[found.origin]}")


def _line(place: Place, imported: bool) -> str:
    exchange = f" r{place.exchange}" if place.exchange else ""
    inside = "" if place.whole else ", inside a longer text"
    if imported:
        return f"{place.title}  {_SPEAKERS[place.speaker]}  {place.where}{inside}"
    return (
        f"e{place.event}{exchange}  +{duration(place.at)}  {_SPEAKERS[place.speaker]}  "
        f"{place.title}  {place.where}{inside}"
    )
