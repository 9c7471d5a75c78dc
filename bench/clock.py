"""What the probes cost an agent's own interpreters: their start, and each time or random value."""

import json
import shutil
import sys
from dataclasses import dataclass

from bench.arena import Arena, progress
from bench.contenders import ROOT
from bench.figures import Row, row
from bench.runs import WAYS, Runs, Way
from rerail.probe import paths


@dataclass(frozen=True, slots=True)
class Interpreter:
    """How one does nothing, and how it measures its calls, which it prints as JSON."""

    name: str
    runs: Runs
    nothing: tuple[str, ...]
    calls: tuple[str, ...]


def measure(arena: Arena) -> list[Row]:
    """Start-up in a run against start-up alone, and nanoseconds a call in each way."""
    return [row for one in _interpreters(arena) for row in _measure(arena, one)]


def _interpreters(arena: Arena) -> list[Interpreter]:
    variables = {"PYTHONPATH": f"{paths().python}:{ROOT}"}
    python = Runs(arena.place, sys.executable, variables)
    found = [Interpreter("Python", python, ("-c", "pass"), ("-m", "bench.clock_client"))]
    node = shutil.which("node")
    if node is None:
        arena.note("Node is not installed: what its probe costs was not measured")
        return found
    runs = Runs(arena.place, node, {"NODE_OPTIONS": f"--require {paths().node_preload}"})
    nothing = ("-e", "0")
    return [*found, Interpreter("Node", runs, nothing, (str(ROOT / "bench" / "clock_client.cjs"),))]


def _measure(arena: Arena, one: Interpreter) -> list[Row]:
    starts: dict[tuple[Way, int], list[float]] = {}
    calls: dict[tuple[Way, str], list[float]] = {}
    for number in range(arena.plan.start_rounds):
        progress(f"a {one.name}'s clock, round {number + 1} of {arena.plan.start_rounds}")
        for way in WAYS:
            for place, cost in enumerate(one.runs.quickest(way, one.nothing)):
                starts.setdefault((way, place), []).append(cost * 1e3)
            for name, cost in json.loads(one.runs.start(way, one.calls)[0]).items():
                calls.setdefault((way, name), []).append(float(cost))
    names = dict.fromkeys(name for _, name in calls)
    return [
        *(
            row(
                f"a {one.name}'s start-up, {kind}",
                "ms",
                direct=starts["direct", place],
                rerail=starts["recording", place],
            )
            for place, kind in enumerate(("wall time", "CPU"))
        ),
        *(
            row(f"{name}, {way}", "ns", direct=calls["direct", name], rerail=calls[way, name])
            for way in WAYS[1:]
            for name in names
        ),
    ]
