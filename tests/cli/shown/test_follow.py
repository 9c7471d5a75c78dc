"""`rerail show --follow`: a tape shown while it is being recorded."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rerail.cli.shown.follow import follow
from rerail.tape.reader import State
from rerail.tape.records import Event
from rerail.testing.tapes import Recording

MakeTape = Callable[..., Recording]
PATIENCE = 20.0

RECORDER = """
import sys
from pathlib import Path
from rerail.testing.tapes import Recording
tape = Recording.begin(Path(sys.argv[1]))
for word in sys.stdin:
    number = int(word)
    tape.request(number)
    tape.writer.flush()
    print(number, flush=True)
tape.end()
"""


class Recorder:
    """A recorder in a process of its own, told what to do line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = subprocess.Popen(
            [sys.executable, "-c", RECORDER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.request(1)

    def request(self, number: int) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == f"{number}\n"

    def end(self) -> None:
        self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    made = Recorder(tmp_path / "live.tape")
    yield made
    made.kill()


class Follower:
    """`follow` in a thread of its own; what it shows can be waited for."""

    def __init__(self, path: Path) -> None:
        self.shown: queue.Queue[Event] = queue.Queue()
        self.left: list[State] = []
        self.thread = threading.Thread(
            target=lambda: self.left.append(follow(path, self.shown.put)), daemon=True
        )
        self.thread.start()

    def next(self) -> Event:
        return self.shown.get(timeout=PATIENCE)

    def end(self) -> State:
        self.thread.join(PATIENCE)
        return self.left[0]


def test_events_are_shown_as_they_are_committed_until_the_run_ends(recorder: Recorder) -> None:
    follower = Follower(recorder.path)
    assert [follower.next().seq, follower.next().seq] == [1, 2]
    recorder.request(2)
    assert follower.next().seq == 3
    recorder.end()
    assert [follower.next().seq, follower.next().seq] == [4, 5]
    assert follower.end() == "finished"


def test_it_ends_when_the_recorder_dies(recorder: Recorder) -> None:
    follower = Follower(recorder.path)
    assert [follower.next().seq, follower.next().seq] == [1, 2]
    recorder.kill()
    assert follower.end() == "lost"


def test_a_finished_tape_is_shown_once(simple_tape: Path, rerail: Callable[..., Any]) -> None:
    result = rerail("show", simple_tape, "--follow")
    assert result.status == 0
    assert result.out == rerail("show", simple_tape, "--events").out


def test_json_is_one_event_a_line(simple_tape: Path, rerail: Callable[..., Any]) -> None:
    lines = rerail("show", simple_tape, "--follow", "--json").lines
    assert [json.loads(line)["event"] for line in lines] == list(range(1, 13))


def test_a_lost_tape_is_said_to_be_lost(
    make_tape: MakeTape, tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    lost = make_tape().leave(tmp_path / "lost.tape")
    result = rerail("show", lost, "--follow")
    assert result.status == 0
    assert "the recorder died (run.lost)" in result.err


def test_control_c_ends_it_quietly(recorder: Recorder) -> None:
    viewer = subprocess.Popen(
        [sys.executable, "-m", "rerail.cli", "show", str(recorder.path), "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
    )
    assert viewer.stdout is not None
    assert "run.started" in viewer.stdout.readline()
    assert "http.request" in viewer.stdout.readline()
    viewer.send_signal(signal.SIGINT)
    out, err = viewer.communicate(timeout=PATIENCE)
    assert (viewer.returncode, out, err) == (0, "", "")
