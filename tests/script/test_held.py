"""A held task: no host goes on with its scripts unless somebody says why, for the tape."""

import os
from pathlib import Path

import pytest

from rerail.holds import Holds, TaskHeld
from rerail.script import Script
from rerail.tape.plane_records import HoldMet
from rerail.tape.reader import Tape


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A parked run of a task that is then held."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Script.start("tool('a')", tape=tmp_path / "run.tape", task_id="TASK-1").close()
    with Holds.open(os.environ) as holds:
        holds.place(run_id="", task_id="TASK-1", reason="under investigation", by="me")
    return tmp_path / "run.tape"


def test_it_is_not_taken_up_again_nor_forked_nor_tried_anew(held: Path, tmp_path: Path) -> None:
    with pytest.raises(TaskHeld, match="under investigation"):
        Script.resume(held)
    with pytest.raises(TaskHeld):
        Script.fork(held, 1, output=tmp_path / "fork.tape")
    with pytest.raises(TaskHeld):
        Script.start("1", tape=tmp_path / "again.tape", task_id="TASK-1")
    assert not (tmp_path / "fork.tape").exists()
    assert not (tmp_path / "again.tape").exists()


def test_who_goes_on_says_why(held: Path, tmp_path: Path) -> None:
    fork = Script.fork(held, 1, output=tmp_path / "fork.tape", despite_hold="to find the cause")
    assert fork.answer(fork.pending.token, 1).result() == 1
    run = Script.resume(held, despite_hold="it was a false alarm")
    assert run.answer(run.pending.token, 2).result() == 2
    for path, why in ((fork.tape, "to find the cause"), (held, "it was a false alarm")):
        with Tape.open(path) as tape:
            [met] = [event for event in tape.events() if isinstance(event, HoldMet)]
        assert (met.why, met.went_on, met.component) == (why, True, "person")
