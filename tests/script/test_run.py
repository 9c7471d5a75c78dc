"""A run from pause to pause: the order of writing, answers by token, what the script is told."""

import os
import signal
from pathlib import Path
from typing import Any, Literal

import pytest

from rerail.errors import TapeExists, UsageProblem
from rerail.script import Call, Limits, Script, repeatable
from rerail.script.engine import PRINTED_AT_MOST, ScriptCrashed
from rerail.script.limits import LARGEST
from rerail.script.recorded import read_script
from rerail.script.run import MayHaveRun, ScriptFailed, WrongToken
from rerail.script.values import NotJson
from rerail.tape.reader import Tape
from rerail.tape.records import RunEnded
from rerail.tape.script_records import (
    ScriptAnswered,
    ScriptAsked,
    ScriptEnded,
    ScriptParked,
    ScriptPaused,
    ScriptPrinted,
)
from rerail.tape.seal import verify
from rerail.tape.storage import Storage
from tests.script.conftest import AGENT, GIVEN

RESULT = {"turns": 3, "said": ["mend it", "0", "1", "2"], "errors": 2}


def think(call: Call) -> object:
    return {"content": str(call.arguments["turn"])}


def check(call: Call) -> object:
    return {"errors": len(call.arguments["files"]) - 2}


TOOLS = {"think": repeatable(think), "check": check}


def test_with_all_tools_it_runs_to_its_end(tmp_path: Path) -> None:
    run = Script.start(AGENT, tape=tmp_path / "run.tape", tools=TOOLS, inputs=GIVEN)
    assert run.state == "ended"
    assert run.result() == RESULT
    assert [pause.tool for pause in run.pauses] == ["think", "think", "think", "check"]
    assert run.pauses[1].arguments["turn"] == 1
    assert run.pauses[1].answer.value == {"content": "1"}
    with Tape.open(run.tape) as tape:
        assert verify(tape).intact
        assert tape.id == run.tape_id
        assert tape.state == "finished"
        recorded = read_script(tape)
        assert (recorded.output, recorded.code, recorded.inputs) == (RESULT, AGENT, GIVEN)


def test_a_call_without_a_tool_waits_and_is_answered_by_token(tmp_path: Path) -> None:
    run = Script.start(AGENT, tape=tmp_path / "run.tape", tools={"check": check}, inputs=GIVEN)
    for turn in range(3):
        assert run.state == "waiting"
        assert run.pending is not None
        assert run.pending.number == turn + 1
        assert not run.pending.may_have_run
        run.answer(run.pending.token, {"content": str(turn)})
    assert run.result() == RESULT


def test_a_state_is_on_the_disk_before_its_tool_is_called(tmp_path: Path) -> None:
    seen = []

    def look(call: Call) -> object:
        with Tape.open(tmp_path / "run.tape") as tape:
            last = tape.event(tape.last_seq)
            seals = [seal.tree_size for seal in tape.seals()]
            assert isinstance(last, ScriptPaused)
            seen.append((last.pause, last.calls, len(tape.blob(last.state.digest)) > 1000))
            assert seals[-1] == tape.last_seq
        return {"content": "x", "errors": 0}

    Script.start(
        AGENT, tape=tmp_path / "run.tape", tools={"think": look, "check": look}, inputs=GIVEN
    )
    assert seen == [(number, True, True) for number in (1, 2, 3, 4)]


def test_an_answer_is_on_the_disk_before_the_script_goes_on(tmp_path: Path) -> None:
    kinds: list[type] = []

    def note(call: Call) -> object:
        with Tape.open(tmp_path / "run.tape") as tape:
            kinds.extend(type(event) for event in tape.events())
        return None

    Script.start("tool('note')\ntool('note')", tape=tmp_path / "run.tape", tools={"note": note})
    second = kinds[kinds.index(ScriptPaused) + 1 :]
    assert second[-2:] == [ScriptAnswered, ScriptPaused]


def test_the_key_of_a_call_is_its_own_and_stays(tmp_path: Path) -> None:
    keys = []
    tools = {"t": lambda call: keys.append((call.key, call.attempt))}
    run = Script.start("tool('t')\ntool('t')", tape=tmp_path / "run.tape", tools=tools)
    assert [key.split(":")[0] for key, _ in keys] == [run.run_id] * 2
    assert len(set(keys)) == 2


def test_a_wrong_token_changes_nothing(tmp_path: Path) -> None:
    with Script.start("tool('a')\ntool('b')", tape=tmp_path / "run.tape") as run:
        first = run.pending.token
        with pytest.raises(WrongToken):
            run.answer("nönsense", 1)
        run.answer(first, 1)
        with pytest.raises(WrongToken):
            run.answer(first, 1)
        assert run.pending.number == 2


def test_a_note_and_a_limit_go_in_beside_an_answer(tmp_path: Path) -> None:
    run = Script.start(AGENT, tape=tmp_path / "run.tape", tools={"check": check}, inputs=GIVEN)
    run.answer(run.pending.token, {"content": "0"}, note="look at a.ts", limit=2)
    run.answer(run.pending.token, {"content": "1"})
    assert run.result()["said"] == ["mend it", "look at a.ts", "0", "1"]


def test_a_note_beside_what_is_no_dict_is_refused(tmp_path: Path) -> None:
    with (
        Script.start("tool('a')", tape=tmp_path / "run.tape") as run,
        pytest.raises(UsageProblem),
    ):
        run.answer(run.pending.token, 3, note="n")


@pytest.mark.parametrize("value", [{1, 2}, b"x", float("nan"), {1: 2}, object()], ids=repr)
def test_an_answer_that_cannot_be_kept_is_refused_and_the_pause_waits(
    tmp_path: Path, value: object
) -> None:
    with Script.start("tool('a')", tape=tmp_path / "run.tape") as run:
        with pytest.raises(NotJson):
            run.answer(run.pending.token, value)
        run.answer(run.pending.token, 7)
        assert run.result() == 7


def test_what_a_tool_raises_is_raised_in_the_script(tmp_path: Path) -> None:
    def refuse(call: Call) -> object:
        raise KeyError("not there")

    code = "try:\n    tool('a')\nexcept KeyError as error:\n    said = str(error)\nsaid"
    run = Script.start(code, tape=tmp_path / "run.tape", tools={"a": refuse})
    assert run.result() == "'not there'"
    with Tape.open(run.tape) as tape:
        answered = [event for event in tape.events() if isinstance(event, ScriptAnswered)]
        assert answered[0].raised == "KeyError"


def test_a_host_may_raise_too(tmp_path: Path) -> None:
    run = Script.start("tool('a')", tape=tmp_path / "run.tape")
    run.fail(run.pending.token, "ValueError", "no such thing")
    assert run.state == "failed"
    assert run.error.endswith("ValueError: no such thing")
    assert 'File "script.py", line 1' in run.error
    with pytest.raises(ScriptFailed, match="no such thing"):
        run.result()


def test_a_tool_that_is_stopped_leaves_a_call_that_may_have_run(tmp_path: Path) -> None:
    def stopped(call: Call) -> object:
        raise KeyboardInterrupt

    path = tmp_path / "run.tape"
    with pytest.raises(KeyboardInterrupt):
        Script.start("tool('a')", tape=path, tools={"a": stopped})
    with Script.resume(path, tools={"a": stopped}) as run:
        assert run.pending.may_have_run
        assert run.answer(run.pending.token, "seen").result() == "seen"


def test_a_worker_that_dies_costs_what_it_did_since_the_last_pause(tmp_path: Path) -> None:
    def kill_it(call: Call) -> object:
        if call.attempt == 1:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            workers = [pid for pid in children if "monty" in Path(f"/proc/{pid}/comm").read_text()]
            for worker in workers:
                os.kill(int(worker), signal.SIGKILL)
        return "done"

    path = tmp_path / "run.tape"
    with pytest.raises(ScriptCrashed):
        Script.start("a = 7\n[a, tool('a')]", tape=path, tools={"a": kill_it})
    assert Script.resume(path).result() == [7, "done"]


def test_the_clock_and_entropy_are_told_and_kept(tmp_path: Path) -> None:
    code = (
        "import time, random, datetime\n"
        "[time.time(), str(datetime.date.today()), random.random(), time.monotonic()]"
    )
    run = Script.start(code, tape=tmp_path / "run.tape")
    with Tape.open(run.tape) as tape:
        asked = [event.name for event in tape.events() if isinstance(event, ScriptAsked)]
    assert asked == ["time.time", "date.today", "os.urandom", "time.time"]
    assert run.result()[0] > 1.7e9


def test_a_sleep_is_a_pause(tmp_path: Path) -> None:
    slept: list[float] = []
    code = "import time\ntime.sleep(3600)\n'awake'"
    run = Script.start(code, tape=tmp_path / "run.tape", sleep=slept.append)
    assert run.result() == "awake"
    assert [pause.tool for pause in run.pauses] == ["time.sleep"]
    assert 3590 < slept[0] <= 3600


def test_what_it_prints_is_kept(tmp_path: Path) -> None:
    run = Script.start("print('one')\nprint('two')\ntool('a')", tape=tmp_path / "run.tape")
    run.answer(run.pending.token, None)
    with Tape.open(run.tape) as tape:
        printed = [event for event in tape.events() if isinstance(event, ScriptPrinted)]
        assert [tape.blob(event.text.digest) for event in printed] == [b"one\ntwo\n"]


def test_of_what_it_prints_without_end_a_beginning_is_kept(tmp_path: Path) -> None:
    code = "for _ in range(40):\n    print('x' * 100_000)\ntool('a')\nprint('at last')"
    run = Script.start(code, tape=tmp_path / "run.tape", tools={"a": lambda call: None})
    with Tape.open(run.tape) as tape:
        printed = [event for event in tape.events() if isinstance(event, ScriptPrinted)]
        first, last = (tape.blob(event.text.digest) for event in printed)
    assert len(first) < PRINTED_AT_MOST + 100
    assert first.endswith(b"(more was printed, and is not kept)\n")
    assert last == b"at last\n"


def test_an_existing_tape_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run.tape"
    Script.start("1", tape=path)
    with pytest.raises(TapeExists):
        Script.start("2", tape=path)
    assert Script.start("2", tape=path, overwrite=True).result() == 2


def test_closing_a_waiting_run_parks_it(tmp_path: Path) -> None:
    with Script.start("tool('a')", tape=tmp_path / "run.tape") as run:
        token = run.pending.token
    run.close()
    assert run.pending is None
    with pytest.raises(WrongToken):
        run.answer(token, 1)
    with Tape.open(run.tape) as tape:
        assert isinstance(tape.event(tape.last_seq), ScriptParked)
        assert read_script(tape).parked
        assert verify(tape).intact


def test_a_tape_may_stay_open_after_the_script(tmp_path: Path) -> None:
    run = Script.start("1", tape=tmp_path / "run.tape", stay_open=True)
    run.recorder.missing("something", "noted after the end", 0)
    run.close()
    with Tape.open(run.tape) as tape:
        kinds = [type(event) for event in tape.events()]
    assert kinds.index(ScriptEnded) == len(kinds) - 3
    assert kinds[-1] is RunEnded


def test_a_tool_puts_facts_on_the_tape(tmp_path: Path) -> None:
    def tool(call: Call) -> None:
        call.recorder.missing("a thing", call.key, 0)

    run = Script.start("tool('a')", tape=tmp_path / "run.tape", tools={"a": tool})
    with Tape.open(run.tape) as tape:
        assert any(getattr(event, "what", "") == "a thing" for event in tape.events())


def test_a_call_is_made_when_the_tool_is_there(tmp_path: Path) -> None:
    tools: dict[str, Any] = {}
    with Script.start("tool('a')", tape=tmp_path / "run.tape", tools=tools) as run:
        with pytest.raises(UsageProblem):
            run.go_on()
        tools["a"] = lambda call: call.attempt
        assert run.go_on().result() == 1


def test_a_call_that_may_have_run_is_not_made_again_unasked(tmp_path: Path) -> None:
    attempts = []

    def breaks(call: Call) -> object:
        attempts.append(call.attempt)
        if call.attempt < 3:
            raise UsageProblem("the host itself is in trouble")
        return "done"

    tools: dict[str, Any] = {}
    with Script.start("tool('a')", tape=tmp_path / "run.tape", tools=tools) as run:
        tools["a"] = breaks
        with pytest.raises(UsageProblem):
            run.go_on()
        assert run.pending.may_have_run
        with pytest.raises(MayHaveRun):
            run.go_on()
        with pytest.raises(UsageProblem):
            run.go_on(repeat=True)
        tools["a"] = repeatable(breaks)
        assert run.go_on().result() == "done"
    assert attempts == [1, 2, 3]


@pytest.mark.parametrize(
    ("code", "limits", "said"),
    [
        ("while True: pass", Limits(turn_ms=50), "TimeoutError"),
        ("a = []\nwhile True: a.append('x' * 1000)", Limits(memory=1 << 20), "MemoryError"),
        ("def f(n): return f(n + 1)\nf(0)", Limits(depth=50), "RecursionError"),
        ("while True: tool('a')", Limits(pauses=5), "more than 5 pauses"),
        ("import time\nwhile True: time.time()", Limits(asked=9), "more than 9 readings"),
    ],
)
def test_each_limit_stops_it(tmp_path: Path, code: str, limits: Limits, said: str) -> None:
    tools = {"a": lambda call: None}
    run = Script.start(code, tape=tmp_path / "run.tape", tools=tools, limits=limits)
    assert run.state == "failed"
    assert said in run.error


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def f(:\n    pass", "SyntaxError"),
        ("class A(Exception): pass", "class inheritance"),
        ("think('x')", "a tool is called with tool('think', …)"),
        ("list(map(tool, ['a']))", "name 'tool' is not defined"),
        ("tool()", "tool() takes a name"),
        ("tool('a', {'x': {1}})", "no JSON value"),
        ("open('/etc/passwd')", "PermissionError"),
        ("import os\nos.environ['HOME']", "not supported"),
        ("import socket", "No module named 'socket'"),
        ("{1, 2}", "cannot be kept"),
    ],
)
def test_what_a_script_cannot_do_fails_it_with_its_place(
    tmp_path: Path, code: str, said: str
) -> None:
    run = Script.start(code, tape=tmp_path / "run.tape", tools={"a": lambda call: None})
    assert run.state == "failed"
    assert said in run.error


def test_only_what_may_not_be_repeated_is_synced_before_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[str] = []
    sync = Storage.sync

    def noted(self: Storage) -> None:
        sync(self)
        syncs.append("sync")

    monkeypatch.setattr(Storage, "sync", noted)
    tools = {
        "read": repeatable(lambda call: syncs.append("read")),
        "pay": lambda call: syncs.append("pay"),
    }
    code = "tool('read')\ntool('pay')\ntool('read')\ntool('pay')\ntool('ask')"
    with Script.start(code, tape=tmp_path / "run.tape", tools=tools):
        assert syncs == ["read", "sync", "pay", "read", "sync", "pay", "sync"]


@pytest.mark.parametrize("name", LARGEST)
def test_a_limit_has_a_limit(name: str) -> None:
    for value in (0, -1, LARGEST[name] + 1):
        with pytest.raises(UsageProblem, match=name):
            Limits(**{name: value})
    assert Limits.recorded({name: 1 << 62}).as_recorded()[name] == LARGEST[name]
    assert Limits.recorded({name: -5}).as_recorded()[name] == 1


@pytest.mark.parametrize("how", ["state", "answers"])
def test_a_state_that_is_too_large_to_be_saved_is_the_scripts_failure(
    tmp_path: Path, how: Literal["state", "answers"]
) -> None:
    code = 'a = tool("ask", {})\nb = tool("next", {"q": a})'
    run = Script.start(code, tape=tmp_path / "run.tape")
    assert run.pending is not None
    run.answer(run.pending.token, "x" * 40_000_000)
    assert run.state == "failed"
    assert "line 2 cannot be saved: MemoryError" in run.error
    run.close()
    with Tape.open(run.tape) as tape:
        assert verify(tape).intact
    again = Script.fork(run.tape, 1, output=tmp_path / "fork.tape", how=how)
    assert again.pending is not None
    assert again.answer(again.pending.token, "less").pending is not None
    again.close()


def test_a_number_that_python_does_not_write_is_no_answer(tmp_path: Path) -> None:
    run = Script.start('tool("ask", {})', tape=tmp_path / "run.tape")
    assert run.pending is not None
    with pytest.raises(NotJson, match="too many digits"):
        run.answer(run.pending.token, 10**5000)
    assert run.answer(run.pending.token, 10**4000).state == "ended"
    run.close()
