"""Several forks from one step, side by side: each a rewind in a process of its own, as it is alone.

A process each, because a run has the signals, the children and the event loop of its process.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from rerail.launch.aside import Aside
from rerail.rewind.report import RewindReport

_SHOWN: Final = 2000


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork to be made: its tape, and where what its command says is kept."""

    tape: Path

    @property
    def log(self) -> Path:
        """Beside the tape."""
        return self.tape.with_suffix(".log")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a fork; without a report, `failed` has the last words of its process."""

    fork: Fork
    report: RewindReport | None
    failed: str = ""


def fork_side_by_side(
    forks: Sequence[Fork],
    words: Callable[[Fork], list[str]],
    environment: Mapping[str, str],
    *,
    jobs: int = 0,
    told: Callable[[int, int], None] = lambda done, all_: None,
) -> list[Outcome]:
    """Make forks, so many at once (by default as many as there are cores), in their order.

    `words` are those of a command line that rewinds onto a fork's tape and puts out its report.
    """
    jobs = jobs or os.cpu_count() or 1
    told(0, len(forks))
    with ThreadPoolExecutor(jobs) as pool, Aside() as aside:
        running = [pool.submit(_fork, aside, fork, words(fork), environment) for fork in forks]
        try:
            for done, _ in enumerate(as_completed(running), start=1):
                told(done, len(forks))
        finally:
            for future in running:
                future.cancel()
    return [future.result() for future in running]


def _fork(aside: Aside, fork: Fork, words: list[str], environment: Mapping[str, str]) -> Outcome:
    status, output = aside.program(words, environment, fork.log)
    try:
        return Outcome(fork, msgspec.json.decode(output, type=RewindReport))
    except msgspec.DecodeError:
        said = fork.log.read_bytes()[-_SHOWN:].decode("utf-8", "replace").strip().splitlines()
        errors = [line for line in said if line.startswith("rerail: ")]
        last = (errors or said or [f"it ended with status {status}"])[-1]
        return Outcome(fork, None, last.removeprefix("rerail: "))
