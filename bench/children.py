"""What recording and replaying cost an agent for each child process that it starts."""

import json
import shutil
import subprocess
import sys

from bench.arena import Arena, progress
from bench.contenders import ROOT, Place, RunFailed
from bench.figures import Row, row

WAYS = ("direct", "recording", "replaying")


def measure(arena: Arena) -> list[Row]:
    """Milliseconds a child: alone, in a recording, in a replay of it."""
    agents = {"Python": (sys.executable, str(ROOT / "bench" / "child_client.py"))}
    node = shutil.which("node")
    if node is not None:
        agents["Node"] = (node, str(ROOT / "bench" / "child_client.cjs"))
    else:
        arena.note("Node is not installed: what its children cost was not measured")
    return [found for name, words in agents.items() for found in _measure(arena, name, words)]


def _measure(arena: Arena, name: str, words: tuple[str, ...]) -> list[Row]:
    costs: dict[str, dict[str, list[float]]] = {way: {} for way in WAYS}
    for number in range(arena.plan.start_rounds):
        progress(f"children of {name}, round {number + 1} of {arena.plan.start_rounds}")
        for way in WAYS:
            for what, cost in _told(arena.place, way, words).items():
                costs[way].setdefault(what, []).append(cost)
    return [
        row(f"a child of {name}, {what}, {way}", "ms", direct=direct, rerail=costs[way][what])
        for way in WAYS[1:]
        for what, direct in costs["direct"].items()
    ]


def _told(place: Place, way: str, words: tuple[str, ...]) -> dict[str, float]:
    tape = str(place.folder / "children.tape")
    rerail = (sys.executable, "-m", "rerail.cli")
    before = {
        "direct": (),
        "recording": (*rerail, "record", "-q", "--force", "-o", tape, "--"),
        "replaying": (*rerail, "replay", "-q", tape, "--"),
    }[way]
    done = subprocess.run(
        (*before, *words),
        cwd=place.work,
        env=place.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return {name: float(cost) for name, cost in json.loads(done.stdout).items()}
    except ValueError as error:
        raise RunFailed(f"children, {way}: {done.stderr[-500:]}") from error
