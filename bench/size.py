"""The size of a tape: fifty turns of a made-up agent, recorded over the wire by each recorder.

The measure is what `zstd -19` makes of what has to be kept: the last request, which holds the whole
history, and all replies. `python -m bench.tape_size` says where the bytes of a tape lie.
"""

from typing import Final

from bench.arena import Arena, Contest, progress
from bench.contenders import Contender, client
from bench.figures import Goal, Row, row
from rerail.testing.made_up_agent import limit, turns

_GOAL: Final = Goal("value", "at most", 3)


def measure(arena: Arena) -> list[Row]:
    """One row: how many times the limit each file is."""
    progress("the tape of a 50-turn agent")
    contest, smallest = Contest(arena), limit(list(turns()))
    sizes: dict[str, list[float]] = {"rerail": [], "peer": []}
    for contender in arena.contenders:
        if contender.name in sizes:
            sizes[contender.name] = _sizes(arena, contest, contender, smallest)
    return [
        row(
            "tape of a 50-turn agent",
            "× zstd -19",
            rerail=sizes["rerail"],
            peer=sizes["peer"],
            goal=_GOAL,
        )
    ]


def _sizes(arena: Arena, contest: Contest, contender: Contender, smallest: int) -> list[float]:
    command = client("agent", arena.url("https"))
    if contest.run(contender, command, "recording", "agent") is None:
        return []
    return [contender.tape("agent").stat().st_size / smallest]
