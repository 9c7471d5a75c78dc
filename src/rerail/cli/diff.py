"""`rerail diff`: two tapes beside each other, down to the first difference."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import click

from rerail.cli.options import TAPE
from rerail.cli.screen.texts import json_text, one_line, quantity, say, styled
from rerail.cli.shown.damage import tell_damage
from rerail.errors import RerailError
from rerail.tape.reader import Tape

if TYPE_CHECKING:
    from rerail.compare.alike import Likeness
    from rerail.compare.divergence import Difference
    from rerail.compare.volatile import Rules
    from rerail.trace.difference import Comparison, Parting, ReadRun

_LATER: Final = 8
_DIFFERENCES: Final = 6
_WORDS: Final = 3


@click.command()
@click.argument("good", type=TAPE)
@click.argument("bad", type=TAPE)
@click.option(
    "--ignore",
    "ignored",
    metavar="PATH",
    multiple=True,
    help="A field that need not be equal: messages[*].id, header:x-run, query:t.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document, every difference.")
def diff(good: Path, bad: Path, ignored: tuple[str, ...], as_json: bool) -> int:
    """Compare the run on BAD with the one on GOOD, and say where they part first.

    Requests are compared as a replay compares them, model answers by what they say, then child
    processes, files and how the runs ended. The exit status is 0 where they are the same, else 1.
    """
    from rerail.compare.volatile import Rules

    rules = Rules(ignored)
    damage: list[RerailError] = []
    worse: list[RerailError] = []
    with Tape.open(good) as one, Tape.open(bad) as other:
        found = compared(one, other, rules, damage, worse)
        if as_json:
            say(json_text(_values(good, bad, found)))
        else:
            _print(found)
            _say_next(good, bad, found)
        damaged = tell_damage(one, damage) | tell_damage(other, worse)
    return damaged or int(found.first is not None)


def compared(
    good: Tape, bad: Tape, rules: "Rules", damage: list[RerailError], worse: list[RerailError]
) -> "Comparison":
    """Two tapes compared; what of the good one cannot be read is `damage`, of the bad `worse`."""
    from rerail.trace.difference import Comparison, compare
    from rerail.trace.script_difference import script_partings

    runs = _run(good, damage.append), _run(bad, worse.append)
    found = compare(*runs, rules, _likeness(good, bad, rules))
    partings = [*found.partings, *script_partings(*runs)]
    return Comparison(found.pairs, tuple(sorted(partings, key=lambda one: one.order)))


def _run(tape: Tape, damaged: Callable[[RerailError], object]) -> "ReadRun":
    from rerail.playback.script import Script
    from rerail.trace.difference import ReadRun

    script = Script(tape)
    exchanges = {number: item.exchange for number, item in script.exchanges.items()}
    return ReadRun(tape, script.recorded, exchanges, script.calls, damaged)


def _likeness(good: Tape, bad: Tape, rules: "Rules") -> "Likeness":
    """What a replay of the good run would know in the place of the bad one."""
    from rerail.playback.likeness import likeness_of

    run, now = good.run, bad.run
    lasted = max((event.at for event in good.events()), default=0)
    given = [*now.argv, now.cwd, *now.environment.values()]
    return likeness_of(run, rules, lasted=lasted, now=now.facts, given=given)


def _print(compared: "Comparison") -> None:
    first = compared.first
    same = [pair for pair in compared.pairs if first is None or _before(pair.bad, first)]
    rules = sorted({rule for pair in same for rule in pair.rules})
    under = f", under {', '.join(rules)}" if rules else ""
    if first is None:
        say(styled(f"the runs do not differ: {quantity(len(same), 'request')}{under}", bold=True))
        return
    say(f"the same up to there: {quantity(len(same), 'request')}{under}")
    say()
    say(styled(one_line(f"first difference: {_where(first)}"), bold=True))
    say(f"  {one_line(first.text)}")
    for difference in first.differences[:_DIFFERENCES]:
        _print_difference(difference)
    more = len(first.differences) - _DIFFERENCES
    if more > 0:
        say(f"  and {quantity(more, 'more difference')}")
    later = compared.partings[1:]
    if later:
        say()
        say(f"then {quantity(len(later), 'more place')}:")
        for parting in later[:_LATER]:
            say(f"  {one_line(_where(parting))}: {one_line(parting.text)}")
        if len(later) > _LATER:
            say(f"  and {len(later) - _LATER} more")


def _say_next(good: Path, bad: Path, found: "Comparison") -> None:
    """Where they part at a field of a request, the way past it."""
    from rerail.compare.divergence import can_be_ignored

    first = found.first
    if first is None or first.kind != "asked" or not first.differences:
        return
    path = first.differences[0].path
    if can_be_ignored(path):
        say()
        say("next:")
        say(one_line(f"  rerail diff {quote(str(good))} {quote(str(bad))} --ignore {quote(path)}"))


def _before(exchange: int, first: "Parting") -> bool:
    return not first.bad.startswith("r") or exchange < int(first.bad[1:])


def _where(parting: "Parting") -> str:
    step = f"s{parting.step}, " if parting.step else ""
    good = f"good {parting.good}" if parting.good else "not in good"
    bad = f"bad {parting.bad}" if parting.bad else "not in bad"
    return f"{step}{good}, {bad}"


def _print_difference(difference: "Difference") -> None:
    say(f"  {one_line(difference.path)}")
    if difference.words:
        for word in difference.words[:_WORDS]:
            good, bad = word.marked
            say(one_line(f"    good  {good}"))
            say(one_line(f"    bad   {bad}"))
        return
    if difference.recorded is not None:
        say(one_line(f"    good  {difference.recorded}"))
    if difference.now is not None:
        say(one_line(f"    bad   {difference.now}"))


def _values(good: Path, bad: Path, compared: "Comparison") -> dict[str, Any]:
    import msgspec

    return {
        "good": str(good),
        "bad": str(bad),
        "same": compared.first is None,
        "pairs": msgspec.to_builtins(compared.pairs),
        "partings": msgspec.to_builtins(compared.partings),
    }
