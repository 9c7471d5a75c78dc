"""The host is killed with kill -9 at every pause; who takes the tape up comes to the same end."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rerail.errors import TapeEnded
from rerail.script import Script
from rerail.script.recorded import read_script
from rerail.tape.reader import Tape
from rerail.tape.repair import repair
from rerail.tape.seal import verify
from tests.script import host

PAUSES = 4
RESULT = {
    "turns": 3,
    "said": ["mend it", "thought 0", "thought 1", "thought 2"],
    "errors": 4,
}
ROOT = Path(__file__).parents[2]


def killed(tape: Path, moment: str, log: Path) -> None:
    """A host of its own process, which dies at the moment."""
    command = [sys.executable, "-m", "tests.script.host", str(tape), moment, str(log)]
    done = subprocess.run(command, cwd=ROOT, timeout=60)
    assert done.returncode == -signal.SIGKILL


def calls(log: Path) -> list[str]:
    return [line.rpartition(" ")[0] for line in log.read_text().splitlines()]


@pytest.mark.parametrize("pause", range(1, PAUSES + 1))
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_a_pause_it_comes_to_the_same_end(tmp_path: Path, pause: int, when: str) -> None:
    tape, log = tmp_path / "run.tape", tmp_path / "log"
    killed(tape, f"{when}:{pause}", log)
    with Tape.open(tape) as opened:
        assert opened.state == "lost"
        assert read_script(opened).pauses[-1].may_have_run
    run = host.run(tape, "never", log)
    if pause == PAUSES:  # the check is not marked repeatable: nobody calls it again unasked
        assert run.pending is not None
        assert run.pending.may_have_run
        ran = any(line.startswith("check") for line in calls(log))
        assert ran == (when == "after")
        run.answer(run.pending.token, {"errors": 4}) if ran else run.go_on(repeat=True)
    assert run.result() == RESULT
    # What the world saw twice has the same key: a service that takes it does it once.
    assert len(set(calls(log))) == PAUSES
    assert len(calls(log)) == PAUSES + (when == "after" and pause < PAUSES)
    with Tape.open(tape) as opened:
        assert verify(opened).intact
        assert opened.state == "finished"


@pytest.mark.parametrize("pause", range(1, PAUSES + 1))
def test_an_answer_that_was_saved_is_used(tmp_path: Path, pause: int) -> None:
    tape, log = tmp_path / "run.tape", tmp_path / "log"
    killed(tape, f"answered:{pause}", log)
    with Tape.open(tape) as opened:
        assert read_script(opened).pauses[-1].answer is not None
    assert host.run(tape, "never", log).result() == RESULT
    assert len(calls(log)) == PAUSES


def test_a_script_that_had_ended_has_only_its_tape_ended(tmp_path: Path) -> None:
    tape, log = tmp_path / "run.tape", tmp_path / "log"
    killed(tape, "ended", log)
    with Tape.open(tape) as opened:
        assert (opened.ended, read_script(opened).ended is None) == (None, False)
    run = host.run(tape, "never", log)
    assert (run.state, run.result(), run.pending) == ("ended", RESULT, None)
    assert len(calls(log)) == PAUSES
    with Tape.open(tape) as opened:
        assert verify(opened).intact
        assert (opened.state, opened.id) == ("finished", run.tape_id)
        assert opened.ended is not None
        assert opened.ended.status == 0
    with pytest.raises(TapeEnded):
        Script.resume(tape)


def test_killed_at_every_pause_in_turn_on_one_tape(tmp_path: Path) -> None:
    tape, log = tmp_path / "run.tape", tmp_path / "log"
    for pause in range(1, PAUSES):
        killed(tape, f"after:{pause}", log)
    run = host.run(tape, "never", log)
    assert run.result() == RESULT
    assert [pause.attempts for pause in run.pauses] == [2, 2, 2, 1]
    with Tape.open(tape) as opened:
        assert verify(opened).intact


def test_a_fork_of_a_killed_run(tmp_path: Path) -> None:
    tape, log = tmp_path / "run.tape", tmp_path / "log"
    killed(tape, "before:3", log)
    tools = host.tools("never", log)
    fork = Script.fork(tape, 2, output=tmp_path / "fork.tape", tools=tools)
    assert fork.go_on().result() == RESULT


def test_a_repaired_tape_of_a_killed_run_can_be_forked(tmp_path: Path) -> None:
    tape, log = tmp_path / "run.tape", tmp_path / "log"
    killed(tape, "before:3", log)
    assert repair(tape, tmp_path / "saved.tape").lost == ()
    with pytest.raises(TapeEnded):
        Script.resume(tmp_path / "saved.tape")
    tools = host.tools("never", log)
    fork = Script.fork(tmp_path / "saved.tape", 3, output=tmp_path / "fork.tape", tools=tools)
    assert fork.go_on().result() == RESULT
