"""Programs of an agent's own interpreter, run directly, as in a recording, and as in a replay."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Final, Literal

from bench.contenders import Place, RunFailed
from rerail.launch.run_folder import VARIABLE, ProbeSettings, RunFolder
from rerail.probe.log import read_hello

_SECONDS: Final = 60.0
_STARTS: Final = 10

Way = Literal["direct", "recording", "replaying"]
WAYS: Final[tuple[Way, ...]] = ("direct", "recording", "replaying")


class Runs:
    """Starts an interpreter directly, or as in a recording or a replay of what was recorded last.

    `variables` bring the probe into it.
    """

    def __init__(self, place: Place, program: str, variables: Mapping[str, str]) -> None:
        self._place = place
        self._program = program
        self._variables = variables
        self._logs: dict[str, bytes] = {}

    def start(self, way: Way, words: Sequence[str]) -> tuple[str, float, float]:
        """What it printed, and its wall and CPU time in seconds."""
        with self._folder(way) as variables:
            begun = monotonic()
            running = self._place.start([self._program, *words], variables)
            usage = running.finish(_SECONDS)
            wall = monotonic() - begun
        if usage.status != 0:
            raise RunFailed(f"{self._program} {' '.join(words)}: {running.last_words()}")
        return running.output, wall, usage.cpu_seconds

    def quickest(self, way: Way, words: Sequence[str]) -> tuple[float, float]:
        """Wall and CPU time of one start, of several the smallest."""
        costs = [self.start(way, words)[1:] for _ in range(_STARTS)]
        return min(wall for wall, _ in costs), min(cpu for _, cpu in costs)

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
            yield {VARIABLE: str(folder.path), **self._variables}
            if recording:
                self._logs = {
                    hello.name: lines
                    for _, lines in folder.news()
                    if (hello := read_hello(lines.partition(b"\n")[0])) is not None
                }
