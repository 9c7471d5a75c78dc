"""Start-up: `rerail record -- true`, from start to end, against a peer that begins to listen."""

import signal
from collections.abc import Callable
from functools import partial
from time import monotonic

from bench.arena import Arena, progress
from bench.contenders import Mitmdump, Rerail, RunFailed
from bench.figures import Goal, Row, row

_GOAL = Goal("ratio", "at most", 0.25)
_SECONDS = 60.0

Cost = tuple[float, float]
"""Wall and CPU time, seconds."""


def measure(arena: Arena) -> list[Row]:
    """Wall and CPU time; a round takes both, in random order."""
    peer = arena.peer
    costs: dict[str, list[Cost]] = {"rerail": [], "peer": []}
    steps: list[tuple[str, Callable[[], Cost]]] = [("rerail", partial(rerail_start, arena.rerail))]
    if peer is not None:
        steps.append(("peer", partial(peer_start, peer)))
    for number in range(-1, arena.plan.start_rounds):
        progress(f"start-up, round {number + 1} of {arena.plan.start_rounds}")
        arena.choose.shuffle(steps)
        for name, start in steps:
            cost = start()
            # The first round makes authorities and compiled modules: it does not count.
            if number >= 0:
                costs[name].append(cost)
    return [
        row(
            f"start-up, {kind}",
            "ms",
            rerail=[cost[place] * 1e3 for cost in costs["rerail"]],
            peer=[cost[place] * 1e3 for cost in costs["peer"]],
            goal=_GOAL,
        )
        for place, kind in enumerate(("wall time", "CPU"))
    ]


def rerail_start(rerail: Rerail) -> Cost:
    """The whole of `rerail record -- true`: proxy up, command run, tape closed."""
    command = rerail.command("recording", "start", ["true"])
    begun = monotonic()
    running = rerail.place.start(command)
    usage = running.finish(_SECONDS)
    wall = monotonic() - begun
    if usage.status != 0:
        raise RunFailed(f"`rerail record -- true`: {running.last_words()}")
    return wall, usage.cpu_seconds


def peer_start(peer: Mitmdump) -> Cost:
    """The peer, until it accepts a connection; then it is killed."""
    begun = monotonic()
    running, port = peer.start("recording", "start")
    running.wait_until_listening(port)
    wall = monotonic() - begun
    return wall, running.stop(signal.SIGKILL).cpu_seconds
