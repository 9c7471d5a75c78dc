"""Children of a recording, told of in any order."""

from collections.abc import Iterator
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest

from rerail.capture.children import ChildrenRecord
from rerail.capture.recorder import Recorder
from rerail.clock import RunClock
from rerail.redact.apply import Redactor
from rerail.tape.reader import Tape
from rerail.tape.records import ProcessEnded, ProcessStarted, RunStarted
from rerail.tape.writer import TapeWriter

START = {
    "do": "start", "child": 2, "parent": 1, "argv": ["true"], "cwd": "/", "shell": False,
    "streams": {}, "descriptors": [],
}  # fmt: skip
RUNS = {"do": "pid", "child": 2, "pid": 77}
END = {"do": "end", "child": 2, "status": 3}


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "run.tape"


@pytest.fixture
def recorder(tape: Path) -> Iterator[Recorder]:
    with closing(TapeWriter.create(tape)) as writer:
        recorder = Recorder(writer, Redactor.create(key=bytes(32)), RunClock())
        recorder.emit(
            lambda at, wall: RunStarted(
                at=at, wall=wall, run_id="r", task_id="t", writer="test", argv=["x"], cwd="/"
            )
        )
        yield recorder


@pytest.mark.parametrize("later", list(permutations([RUNS, END])))
def test_an_end_that_is_heard_before_the_beginning_loses_neither(
    recorder: Recorder, tape: Path, later: tuple[dict[str, object], ...]
) -> None:
    children = ChildrenRecord(recorder)
    for said in (START, *later):
        children.hear(dict(said), ())
    children.close()
    recorder.writer.flush()
    with Tape.open(tape) as opened:
        events = [e for e in opened.events() if isinstance(e, ProcessStarted | ProcessEnded)]
    assert [type(event) for event in events] == [ProcessStarted, ProcessEnded]
    assert isinstance(events[1], ProcessEnded)
    assert (events[1].status, events[1].unknown) == (3, False)
