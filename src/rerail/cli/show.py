"""`rerail show`: what is on a tape, as a list, or one event or exchange of it whole."""

from pathlib import Path

import click

from rerail.cli.facts.events import event_values
from rerail.cli.newest import tape_and_number
from rerail.cli.options import TAPE
from rerail.cli.screen.complaint import complain
from rerail.cli.screen.texts import json_array, json_line, json_text, say
from rerail.cli.shown import raw as raw_bytes
from rerail.cli.shown.damage import tell_damage
from rerail.cli.shown.family import relatives, show_family, tapes_in
from rerail.cli.shown.files import Asked, show_files
from rerail.cli.shown.follow import follow as follow_tape
from rerail.cli.shown.numbers import Number, check_event, child_of, exchanges_of, read_number
from rerail.cli.shown.outline import Outline, read_outline, readable_events
from rerail.cli.shown.overview import overview_values, print_event, print_overview
from rerail.cli.shown.whole import Page
from rerail.cli.shown.whole_values import exchange_values, whole_child_values, whole_event_values
from rerail.errors import RerailError, UsageProblem
from rerail.tape.exchange import Exchange
from rerail.tape.reader import Tape
from rerail.tape.records import Event


@click.command()
@click.argument("tape", required=False, type=TAPE)
@click.argument("number", required=False)
@click.option("--steps", is_flag=True, help="Only model calls, by their step (s1, s2 …).")
@click.option("--events", is_flag=True, help="Every event, one line each.")
@click.option(
    "--files",
    metavar="WHEN",
    help="The folder at a step (3), at the start or the end, or what changed between two (3..5). "
    "With a path in place of NUMBER: that file.",
)
@click.option(
    "--extract",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="With --files: put the folder as it was into this new one.",
)
@click.option(
    "--raw", is_flag=True, help="Write the exact bytes of the reply's body, of what a child said."
)
@click.option(
    "--request", is_flag=True, help="With --raw: of the request's body, of what a child was told."
)
@click.option("--follow", is_flag=True,
              help="Every event as it is recorded, until the run ends.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True,
              help="One JSON document; with --follow one a line.")  # fmt: skip
def show(
    tape: Path | None,
    number: str | None,
    steps: bool,
    events: bool,
    files: str | None,
    extract: Path | None,
    raw: bool,
    request: bool,
    follow: bool,
    as_json: bool,
) -> int:
    """Show what is on TAPE, all in all or one thing whole; of a folder, which tape came from which.

    NUMBER is an event (12 or e12), an exchange (r3), a step (s4) or a child process (p5). Without
    TAPE, of the newest in runs/.
    """
    tape, number = tape_and_number(tape, number)
    views = {"--steps": steps, "--events": events, "--follow": follow}
    one_thing = (number, files, extract, raw, *views.values())
    if not any(one_thing) and (tapes := tapes_in(tape)):
        return show_family(tape, tapes, as_json=as_json)
    if files is not None or extract is not None:
        _check_files(files, views | {"--raw": raw, "--request": request})
        asked = Asked(files or "", number or "", extract, as_json)
        return _files(tape, asked)
    _check_view(number, views)
    _check_raw(number, raw=raw, request=request, as_json=as_json)
    wanted = read_number(number) if number is not None else None
    if follow:
        return _follow(tape, as_json=as_json)
    with Tape.open(tape) as opened:
        if wanted is not None and raw:
            return _raw(opened, wanted, of_request=request)
        if wanted is not None:
            return _whole(opened, wanted, as_json=as_json)
        if events:
            return _events(opened, as_json=as_json)
        return _overview(opened, steps_only=steps, as_json=as_json)


def _check_view(number: str | None, views: dict[str, bool]) -> None:
    chosen = [name for name, given in views.items() if given]
    if len(chosen) > 1:
        raise UsageProblem(f"{chosen[0]} and {chosen[1]} are two views", hint="give one of them")
    if chosen and number is not None:
        raise UsageProblem(
            f"{chosen[0]} shows the whole tape, and `{number}` names one thing on it",
            hint="give one of them",
        )


def _check_files(files: str | None, views: dict[str, bool]) -> None:
    if files is None:
        raise UsageProblem("--extract goes with --files", hint="`--files 3 --extract DIR`")
    for name, given in views.items():
        if given:
            raise UsageProblem(f"--files and {name} are two views", hint="give one of them")


def _check_raw(number: str | None, *, raw: bool, request: bool, as_json: bool) -> None:
    if raw and number is None:
        raise UsageProblem("--raw needs a number", hint="`rerail show TAPE r3 --raw`")
    if raw and as_json:
        raise UsageProblem("--raw and --json are two forms of output", hint="give one of them")
    if request and not raw:
        raise UsageProblem("--request goes with --raw", hint="add --raw, or leave --request out")


def _overview(tape: Tape, *, steps_only: bool, as_json: bool) -> int:
    outline = read_outline(tape)
    if as_json:
        say(json_text(overview_values(str(tape.path), outline, steps_only=steps_only)))
    else:
        found = relatives(tape.path, outline.tape_id) if not steps_only else ()
        print_overview(str(tape.path), outline, found, steps_only=steps_only)
    return tell_damage(tape, outline.damage)


def _events(tape: Tape, *, as_json: bool) -> int:
    damage: list[RerailError] = []
    found = readable_events(tape, damage)
    if as_json:
        for text in json_array(event_values(event) for event in found):
            say(text, end="")
    else:
        for event in found:
            print_event(tape.run, event)
    return tell_damage(tape, damage)


def _whole(tape: Tape, number: Number, *, as_json: bool) -> int:
    outline = read_outline(tape)
    if number.kind == "e":
        damage: list[RerailError] = []
        event = _event(tape, number)
        if as_json:
            say(json_text(whole_event_values(tape, outline, event, damage)))
        else:
            Page(tape, outline, damage).event(event)
    elif number.kind == "p":
        damage = outline.damage
        child = child_of(outline, number)
        if as_json:
            say(json_text(whole_child_values(tape, child, damage)))
        else:
            Page(tape, outline, damage).child(child)
    else:
        # What cannot be read may be a part of just this exchange.
        damage = outline.damage
        exchange = _exchange(outline, number)
        if as_json:
            say(json_text(exchange_values(tape, outline, exchange, damage)))
        else:
            Page(tape, outline, damage).exchange(exchange)
    return tell_damage(tape, damage)


def _raw(tape: Tape, number: Number, *, of_request: bool) -> int:
    if number.kind == "e":
        raw_bytes.write(raw_bytes.event_bytes(tape, _event(tape, number), of_request=of_request))
    elif number.kind == "p":
        child = child_of(read_outline(tape), number)
        raw_bytes.write(raw_bytes.child_bytes(tape, child, of_request=of_request))
    else:
        exchange = _exchange(read_outline(tape), number)
        raw_bytes.write(raw_bytes.exchange_bytes(tape, exchange, of_request=of_request))
    return 0


def _files(path: Path, asked: Asked) -> int:
    with Tape.open(path) as tape:
        outline = read_outline(tape)
        return show_files(tape, outline, asked) or tell_damage(tape, outline.damage)


def _event(tape: Tape, number: Number) -> Event:
    check_event(number, tape.last_seq)
    return tape.event(number.value)


def _exchange(outline: Outline, number: Number) -> Exchange:
    """The exchange of a number; of a step its last attempt, which is the one that was answered."""
    return exchanges_of(outline, number)[-1]


def _follow(path: Path, *, as_json: bool) -> int:
    with Tape.open(path) as tape:
        run = tape.run

    def print_one(event: Event) -> None:
        if as_json:
            say(json_line(event_values(event)))
        else:
            print_event(run, event)

    try:
        left = follow_tape(path, print_one)
    except KeyboardInterrupt:
        return 0
    if left == "lost":
        complain("the recorder died (run.lost); everything committed by then was shown", None)
    return 0
