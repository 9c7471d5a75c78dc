"""Forks and resumed runs: from the state, from the answers, on this tape or on one of their own."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rerail.errors import (
    NothingRecorded,
    NotOnTape,
    TapeAltered,
    TapeBusy,
    TapeEnded,
    TapeExists,
    UsageProblem,
)
from rerail.script import Call, Run, Script, repeatable
from rerail.script.recorded import read_script
from rerail.script.run import ScriptFailed
from rerail.tape.reader import Tape
from rerail.tape.seal import verify
from rerail.tape.storage import Storage
from tests.script.conftest import AGENT, GIVEN


def think(call: Call) -> object:
    return {"content": str(call.arguments["turn"])}


def check(call: Call) -> object:
    return {"errors": 0}


TOOLS = {"think": repeatable(think), "check": check}


def finished(path: Path) -> Run:
    return Script.start(AGENT, tape=path, tools=TOOLS, inputs=GIVEN)


def test_a_fork_goes_on_from_the_pause_with_another_answer(tmp_path: Path) -> None:
    origin = finished(tmp_path / "run.tape")
    before = origin.tape.read_bytes()
    pause = origin.pauses[1]
    fork = Script.fork(origin.tape, 2, output=tmp_path / "fork.tape", tools=TOOLS)
    assert fork.pending.arguments == pause.arguments
    assert not fork.pending.may_have_run
    fork.answer(pause.token, {"content": "other"}, note="a hint", limit=4)
    assert fork.result()["said"] == ["mend it", "0", "a hint", "other", "2", "3"]
    assert [pause.number for pause in fork.pauses] == [2, 3, 4, 5]
    assert origin.tape.read_bytes() == before
    with Tape.open(fork.tape) as tape:
        assert verify(tape).intact
        parent = tape.run.parent
        assert (parent.tape_id, parent.step, parent.relation) == (origin.tape_id, 2, "fork")
        assert tape.run.task_id == origin.run_id
        assert tape.run.run_id != origin.run_id


def test_a_fork_does_not_take_the_place_of_its_parent(tmp_path: Path) -> None:
    origin = finished(tmp_path / "run.tape")
    before = origin.tape.read_bytes()
    link = tmp_path / "link.tape"
    link.symlink_to(origin.tape)
    for output in (origin.tape, link):
        with pytest.raises(TapeExists, match="the tape that it comes from"):
            Script.fork(origin.tape, 1, output=output, overwrite=True)
    assert origin.tape.read_bytes() == before


def test_a_fork_of_a_fork(tmp_path: Path) -> None:
    origin = finished(tmp_path / "0.tape")
    for number in range(1, 4):
        path = tmp_path / f"{number}.tape"
        fork = Script.fork(tmp_path / f"{number - 1}.tape", 3, output=path, tools=TOOLS)
        fork.answer(origin.pauses[2].token, {"content": f"fork {number}"})
        assert fork.result()["said"] == ["mend it", "0", "1", f"fork {number}"]
    with Tape.open(tmp_path / "3.tape") as tape:
        recorded = read_script(tape)
        assert len(recorded.inherited) == 2


def test_a_fork_calls_the_tool_anew_with_a_key_of_its_own(tmp_path: Path) -> None:
    keys = []
    tools = {"think": lambda call: keys.append(call.key) or {"content": "x"}, "check": check}
    origin = Script.start(AGENT, tape=tmp_path / "run.tape", tools=tools, inputs=GIVEN)
    fork = Script.fork(origin.tape, 1, output=tmp_path / "fork.tape", tools=tools)
    assert fork.go_on().result() == origin.result()
    assert len(set(keys)) == 6


def test_a_hundred_forks_of_one_pause_are_independent(tmp_path: Path) -> None:
    origin = finished(tmp_path / "run.tape")
    with Script.open(origin.tape) as saved:
        forks = [
            saved.fork(2, output=tmp_path / f"fork-{number}.tape", tools=TOOLS)
            for number in range(100)
        ]
    for number, fork in reversed(list(enumerate(forks))):
        fork.answer(fork.pending.token, {"content": f"fork {number}"}, limit=2 + number % 3)
    for number, fork in enumerate(forks):
        assert fork.state == "ended"
        said = fork.result()["said"]
        assert said[:3] == ["mend it", "0", f"fork {number}"]
        assert len(said) == 3 + number % 3
    assert len({fork.tape_id for fork in forks}) == 100
    assert origin.result()["said"] == ["mend it", "0", "1", "2"]


def test_random_numbers_not_yet_drawn_differ_between_forks(tmp_path: Path) -> None:
    code = "import random\ntool('a')\nrandom.random()"
    Script.start(code, tape=tmp_path / "run.tape").close()
    drawn = set()
    for number in range(3):
        fork = Script.fork(tmp_path / "run.tape", 1, output=tmp_path / f"{number}.tape")
        drawn.add(fork.answer(fork.pending.token, None).result())
    assert len(drawn) == 3


def test_there_is_no_such_pause(tmp_path: Path) -> None:
    run = finished(tmp_path / "run.tape")
    with pytest.raises(NotOnTape, match="pause 9"):
        Script.fork(run.tape, 9, output=tmp_path / "fork.tape")
    assert not (tmp_path / "fork.tape").exists()


@pytest.mark.parametrize("how", ["state", "answers"])
def test_a_parked_run_is_answered_later(tmp_path: Path, how: str) -> None:
    path = tmp_path / "run.tape"
    with Script.start(AGENT, tape=path, inputs=GIVEN) as run:
        run.answer(run.pending.token, {"content": "0"})
        token = run.pending.token
    again = Script.resume(path, tools={"check": check}, how=how)
    assert [pause.number for pause in again.pauses] == [1, 2]
    assert again.pauses[0].answer.value == {"content": "0"}
    again.answer(token, {"content": "1"})
    again.answer(again.pending.token, {"content": "2"})
    assert again.result() == {"turns": 3, "said": ["mend it", "0", "1", "2"], "errors": 0}
    with Tape.open(path) as tape:
        assert verify(tape).intact
        assert tape.state == "finished"


def test_resumed_with_its_tools_a_waiting_call_is_made(tmp_path: Path) -> None:
    path = tmp_path / "run.tape"
    Script.start(AGENT, tape=path, inputs=GIVEN).close()
    assert Script.resume(path, tools=TOOLS).result()["errors"] == 0


def test_what_a_run_came_to_is_read_off_its_tape(tmp_path: Path) -> None:
    run = finished(tmp_path / "run.tape")
    with Script.open(run.tape) as saved:
        assert saved.result() == run.result()
    Script.start("tool('a')", tape=tmp_path / "waits.tape").close()
    with Script.open(tmp_path / "waits.tape") as saved, pytest.raises(UsageProblem):
        saved.result()
    Script.start("1 / 0", tape=tmp_path / "failed.tape").close()
    with (
        Script.open(tmp_path / "failed.tape") as saved,
        pytest.raises(ScriptFailed, match="division"),
    ):
        saved.result()


def test_a_tape_on_which_nothing_was_kept_yet_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.tape"
    Storage.create(path).abandon()
    with pytest.raises(NothingRecorded):
        Script.resume(path)
    assert Script.start("1 + 1", tape=path).result() == 2
    with pytest.raises(TapeExists):
        Script.start("1 + 1", tape=path)
    path.write_bytes(b"something else")
    with pytest.raises(TapeExists):
        Script.start("1 + 1", tape=path)
    assert path.read_bytes() == b"something else"


def test_a_run_that_ended_or_is_alive_is_not_resumed(tmp_path: Path) -> None:
    run = finished(tmp_path / "run.tape")
    with pytest.raises(TapeEnded):
        Script.resume(run.tape)
    with (
        Script.start("tool('a')", tape=tmp_path / "alive.tape"),
        pytest.raises(TapeBusy),
    ):
        Script.resume(tmp_path / "alive.tape")


def test_a_living_run_can_be_forked(tmp_path: Path) -> None:
    with Script.start(AGENT, tape=tmp_path / "run.tape", inputs=GIVEN) as run:
        run.answer(run.pending.token, {"content": "0"})
        fork = Script.fork(run.tape, 1, output=tmp_path / "fork.tape", tools=TOOLS)
        assert fork.go_on().state == "ended"
        assert run.pending.number == 2


def test_runs_in_several_threads(tmp_path: Path) -> None:
    def one(number: int) -> list[str]:
        tools = {"think": lambda call: {"content": f"{number}"}, "check": check}
        path = tmp_path / f"{number}.tape"
        run = Script.start(AGENT, tape=path, tools=tools, inputs=GIVEN)
        fork = Script.fork(path, 2, output=tmp_path / f"{number}-fork.tape", tools=tools)
        assert fork.go_on().result() == run.result()
        return run.result()["said"]

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(one, range(24)))
    assert said == [["mend it", *[str(number)] * 3] for number in range(24)]


def test_who_read_the_tape_before_another_went_on_does_not_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.tape"
    Script.start("[tool('a'), tool('b')]", tape=path).close()
    with Script.open(path) as early:
        with Script.resume(path) as run:
            run.answer(run.pending.token, 1)
        with pytest.raises((TapeBusy, TapeAltered)):
            early.resume()
    run = Script.resume(path)
    assert run.answer(run.pending.token, 2).result() == [1, 2]
