"""A case of many events: timeline, verify and diagnose, each in a process of its own.

Time and memory at three sizes; a tenfold case should take ten times as long. The tape is made by
hand: requests to tools with their replies, a model call among every hundred, and the records of the
two planes around them. `python -m bench.case EVENTS STEP` is what each process runs.
"""

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, process_time
from typing import Final

from bench.arena import Arena, progress
from bench.contenders import ROOT
from bench.figures import Goal, Row, row
from rerail.testing.plane_tapes import PlaneTape

SIZES: Final = (10_000, 100_000, 1_000_000)
STEPS: Final = ("timeline", "verify", "diagnose")
_GOAL_SECONDS: Final = Goal("value", "at most", 60)
_GOAL_MEMORY: Final = Goal("value", "at most", 1000)
_OF_A_REQUEST: Final = 3
_A_MODEL_CALL_AMONG: Final = 100
_LARGEST: Final = SIZES[-1]


def measure(arena: Arena) -> list[Row]:
    """Rows of seconds and of memory, for each size."""
    rows = []
    quick = arena.plan.large_rounds == 1 and arena.plan.call_rounds == 1
    for events in SIZES[:-1] if quick else SIZES:
        progress(f"a case of {events} events")
        with tempfile.TemporaryDirectory() as folder:
            tape = make(Path(folder) / "large.tape", events)
            case = _opened(tape)
            took = [_timed(step, case) for step in STEPS]
        seconds, processor = sum(one.seconds for one in took), sum(one.processor for one in took)
        memory = max(one.memory for one in took)
        large = events == _LARGEST
        what = f"a case of {events:,} events: {', '.join(STEPS)}"
        rows.append(row(what, "s", rerail=[seconds], goal=_GOAL_SECONDS if large else None))
        rows.append(row(f"{what}, CPU", "s", rerail=[processor]))
        rows.append(
            row(f"{what}, memory", "MB", rerail=[memory], goal=_GOAL_MEMORY if large else None)
        )
    return rows


def make(path: Path, events: int) -> Path:
    """A tape of about so many events."""
    tape = PlaneTape.begin(path, run_id="RUN-LARGE")
    recording = tape.recording
    for number in range(1, events // _OF_A_REQUEST):
        if number % _A_MODEL_CALL_AMONG:
            headers = f"X-Request-Id: q{number}\r\n"
            recording.request(number, target=f"/tickets/{number}", headers=headers)
            recording.reply(number, [b'{"status": "open"}'])
        else:
            recording.chat(number, f"what is ticket {number}?")
            recording.reply(number, [_ANSWER], headers="Content-Type: application/json\r\n")
    tape.agents_plane()
    tape.check(baseline="11")
    return tape.end()


_ANSWER: Final = (
    b'{"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": '
    b'{"role": "assistant", "content": "It is open."}}]}'
)


def _opened(tape: Path) -> Path:
    case = tape.parent / "case"
    command = ["open", str(tape), "--question", "how long?", "--no-hold", "-o", str(case)]
    _rerail(command)
    return case


@dataclass(frozen=True, slots=True)
class _Took:
    """Seconds on the wall, seconds of a processor, megabytes at most."""

    seconds: float
    processor: float
    memory: float


def _timed(step: str, case: Path) -> _Took:
    before = monotonic()
    processor, memory = _rerail([step, str(case)])
    return _Took(monotonic() - before, processor, memory)


def _rerail(arguments: list[str]) -> tuple[float, float]:
    """Run a step of `rerail trace`: its seconds of a processor, and its memory in megabytes."""
    command = [sys.executable, "-m", "bench.case", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        raise OSError(f"{' '.join(arguments)}: {done.stderr.decode()}")
    processor, memory = map(float, done.stderr.splitlines()[-1].split())
    return processor, memory


def main(arguments: list[str]) -> int:
    """Run a step in this process, and say at the end what it took."""
    from rerail.cli.main import run

    status = run(["trace", *arguments])
    sys.stdout.flush()
    os.write(2, f"{process_time():.2f} {_most_memory():.0f}\n".encode())
    return status


def _most_memory() -> float:
    """Megabytes. Linux lets `ru_maxrss` of a process begin with what its parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
