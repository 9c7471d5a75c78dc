"""What snapshots cost a run: 5,000 files, 200 MB, five of them changed before each model call.

A step's processor time is the difference of whole runs, with and without snapshots, with steps and
with none: whatever process or thread of the recorder spends it.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from bench.processes import Running
from rerail.playback.scratch import Scratch
from rerail.tape.reader import Tape
from rerail.tape.records import WorkspaceSnapshot
from rerail.workspace.changes import changes
from rerail.workspace.kept import Kept
from rerail.workspace.present import Remembered, present_tree

FILES: Final = 5000
FILE_SIZE: Final = 40_000
IN_A_FOLDER: Final = 10
CHANGED: Final = 5
STEPS: Final = 12
THINKING_SECONDS: Final = 0.3
SETTLING_SECONDS: Final = 5
_RUN_SECONDS: Final = 300

AGENT: Final = """
import json, sys, time, urllib.request
url, steps, changed, folders, settle = sys.argv[1], *map(int, sys.argv[2:])
time.sleep(settle)
took = []
for step in range(steps):
    for number in range(changed):
        path = f"{(step * changed + number) * 7 % folders}/{number}.txt"
        with open(path) as file:
            lines = file.readlines()
        lines[len(lines) // 2] = f"changed at step {step}, {time.time_ns()}\\n"
        with open(path, "w") as file:
            file.writelines(lines)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": str(step)}]})
    asked = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"})
    began = time.perf_counter()
    urllib.request.urlopen(asked).read()
    took.append(time.perf_counter() - began)
    time.sleep(0.1)
print(json.dumps(took))
"""


class _Model(BaseHTTPRequestHandler):
    """Thinks, then says a word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        sleep(THINKING_SECONDS)
        body = b'{"choices": [{"message": {"role": "assistant", "content": "yes"}}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(arguments: Sequence[str] = ()) -> None:
    """Make a folder, record runs in it, and print what they cost."""
    options = argparse.ArgumentParser(prog="python -m bench.workspace", description=__doc__)
    options.add_argument("--files", type=int, default=FILES)
    options.add_argument("--steps", type=int, default=STEPS)
    chosen = options.parse_args(arguments)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _fill(place / "workspace", chosen.files)
        _measure(place, f"http://127.0.0.1:{server.server_port}/v1/chat/completions", chosen.steps)
    server.shutdown()


def _fill(folder: Path, files: int) -> None:
    """Text that compresses about as source code does."""
    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefghijklmnop_", k=chance.randint(2, 9))) for _ in range(3000)
    ]
    for number in range(files):
        inner, name = divmod(number, IN_A_FOLDER)
        (folder / str(inner)).mkdir(parents=True, exist_ok=True)
        text = "\n".join(" ".join(chance.choices(words, k=10)) for _ in range(FILE_SIZE // 65))
        (folder / str(inner) / f"{name}.txt").write_text(text)


def _measure(place: Path, url: str, steps: int) -> None:
    tape = place / "run.tape"
    cpu: dict[tuple[bool, int], float] = {}
    took: dict[bool, list[float]] = {}
    for kept in (False, True):
        for count in (0, steps):
            used, said = _record(place, tape, url, count, [] if kept else ["--no-workspace"])
            cpu[kept, count] = used
            took[kept] = json.loads(said) if count else []
    step = (cpu[True, steps] - cpu[True, 0]) - (cpu[False, steps] - cpu[False, 0])
    added = _median(took[True]) - _median(took[False])
    start = cpu[True, 0] - cpu[False, 0]
    thought = _median(took[False])
    print(f"processor time a step        {step / steps * 1000:8.0f} ms")
    print(f"processor time of the start  {start * 1000:8.0f} ms, beside the run")
    print(f"added to a model call        {added * 1000:8.1f} ms, of {thought * 1000:.0f}")
    with Tape.open(tape) as opened:
        _tell_of(opened, tape.stat().st_size, place / "workspace", steps)


def _record(place: Path, tape: Path, url: str, steps: int, more: list[str]) -> tuple[float, str]:
    options = [*more, "-q", "--force", "-o", str(tape)]
    workspace = place / "workspace"
    numbers = [steps, CHANGED, len(list(workspace.iterdir())), SETTLING_SECONDS]
    agent = [sys.executable, "-c", AGENT, url, *map(str, numbers)]
    command = [sys.executable, "-m", "rerail.cli", "record", *options, "--", *agent]
    running = Running.start(command, os.environ, workspace)
    usage = running.finish(_RUN_SECONDS)
    if usage.status:
        raise SystemExit(running.last_words())
    return usage.cpu_seconds, running.output


def _tell_of(tape: Tape, size: int, folder: Path, steps: int) -> None:
    kept = Kept(tape)
    first = next(event for event in tape.events() if isinstance(event, WorkspaceSnapshot))
    print(f"first snapshot               {first.at / 1e6:8.0f} ms after the command began")
    grown = _stored_after(tape, first)
    print(f"tape                         {size / 1e6:8.1f} MB, {grown / steps / 1e3:.1f} kB a step")
    began = monotonic()
    with Scratch.make(tape, overlay=False) or sys.exit("no snapshots") as scratch:
        print(f"a copy for a replay          {(monotonic() - began) * 1000:8.0f} ms")
        now = present_tree(folder, scratch.workspace.start, Remembered())
        end = kept.tree(kept.all[-1])
        same = not changes(end, now, same=lambda one, other: one == other)
        print(f"the folder is as the last snapshot says: {'yes' if same else 'no'}")


def _stored_after(tape: Tape, first: WorkspaceSnapshot) -> int:
    """Bytes of contents that came after the first snapshot's tree, as they are stored."""
    row = tape.evidence.find(first.tree)
    assert row is not None
    sql = "SELECT sum(length(data)) FROM blob WHERE id > ?"
    [stored] = tape.stored._connection.execute(sql, (row.id,)).fetchone()
    return int(stored or 0)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    main(sys.argv[1:])
