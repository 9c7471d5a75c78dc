"""What the probe costs an agent's own Python: its start-up, and each time or random value."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Final, Literal

from bench.arena import Arena, progress
from bench.contenders import ROOT, Place, RunFailed
from bench.figures import Row, row
from rerail.launch.run_folder import VARIABLE, ProbeSettings, RunFolder
from rerail.probe import paths
from rerail.probe.log import read_hello

_SECONDS: Final = 60.0
_STARTS: Final = 10
_CALLS: Final = ("time.time", "datetime.now", "random.random", "uuid.uuid4", "os.urandom")

Way = Literal["direct", "recording", "replaying"]
WAYS: Final[tuple[Way, ...]] = ("direct", "recording", "replaying")


class _Runs:
    """Starts Pythons directly, or as in a recording or a replay of what was recorded last."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._logs: dict[str, bytes] = {}

    def start(self, way: Way, *words: str) -> tuple[str, float, float]:
        """What it printed, and its wall and CPU time in seconds."""
        with self._folder(way) as variables:
            begun = monotonic()
            running = self._place.start([sys.executable, *words], variables)
            usage = running.finish(_SECONDS)
            wall = monotonic() - begun
        if usage.status != 0:
            raise RunFailed(f"python {' '.join(words)}: {running.last_words()}")
        return running.output, wall, usage.cpu_seconds

    @contextmanager
    def _folder(self, way: Way) -> Iterator[Mapping[str, str]]:
        if way == "direct":
            yield {}
            return
        recording = way == "recording"
        settings = ProbeSettings(
            mode="record" if recording else "replay", seed="5e" * 32, log=recording
        )
        with RunFolder.make(settings) as folder:
            folder.give_back(self._logs)
            yield {VARIABLE: str(folder.path), "PYTHONPATH": f"{paths().python}:{ROOT}"}
            if recording:
                self._logs = {
                    hello.name: lines
                    for _, lines in folder.news()
                    if (hello := read_hello(lines.partition(b"\n")[0])) is not None
                }


def measure(arena: Arena) -> list[Row]:
    """Start-up in a run against start-up alone, and nanoseconds a call in each way."""
    runs = _Runs(arena.place)
    starts: dict[tuple[Way, int], list[float]] = {}
    calls: dict[tuple[Way, str], list[float]] = {}
    for number in range(arena.plan.start_rounds):
        progress(f"clock and random, round {number + 1} of {arena.plan.start_rounds}")
        for way in WAYS:
            for place, cost in enumerate(_start_up(runs, way)):
                starts.setdefault((way, place), []).append(cost * 1e3)
            for name, cost in _calls(runs, way).items():
                calls.setdefault((way, name), []).append(cost)
    rows = [
        row(
            f"a Python's start-up, {kind}",
            "ms",
            direct=starts["direct", place],
            rerail=starts["recording", place],
        )
        for place, kind in enumerate(("wall time", "CPU"))
    ]
    for way in WAYS[1:]:
        rows += [
            row(f"{name}, {way}", "ns", direct=calls["direct", name], rerail=calls[way, name])
            for name in _CALLS
        ]
    return rows


def _start_up(runs: _Runs, way: Way) -> tuple[float, float]:
    """Wall and CPU time of one start, of several the smallest."""
    costs = [runs.start(way, "-c", "pass")[1:] for _ in range(_STARTS)]
    return min(wall for wall, _ in costs), min(cpu for _, cpu in costs)


def _calls(runs: _Runs, way: Way) -> dict[str, float]:
    found = json.loads(runs.start(way, "-m", "bench.clock_client")[0])
    return {name: float(cost) for name, cost in found.items()}
