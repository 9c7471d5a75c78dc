"""`rerail show` and `steps` on the tapes of durable scripts."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from rerail.script import Script, repeatable
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.event import Body
from rerail.tape.reader import Tape
from rerail.tape.script_records import ScriptAnswered
from rerail.tape.writer import TapeWriter
from tests.cli.conftest import Result

Rerail = Callable[..., Result]

AGENT = """\
history = ["begin"]
for turn in range(3):
    history.append(tool("think", {"history": history})["said"])
try:
    tool("deploy", {"to": "\x1b[2Jprod"})
except PermissionError as error:
    print("refused:", error)
history
"""


def deploy(call: object) -> None:
    raise PermissionError("not on a Friday")


TOOLS = {
    "think": repeatable(lambda call: {"said": f"after {len(call.arguments['history'])}"}),
    "deploy": deploy,
}


@pytest.fixture(autouse=True)
def user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "user"))


@pytest.fixture
def ended(tmp_path: Path) -> Path:
    Script.start(AGENT, tape=tmp_path / "run.tape", tools=TOOLS, name="agent.py")
    return tmp_path / "run.tape"


@pytest.fixture
def parked(tmp_path: Path) -> Path:
    with Script.start(AGENT, tape=tmp_path / "parked.tape", name="agent.py") as run:
        run.answer(run.pending.token, {"said": "one"})
    return run.tape


def test_the_overview_has_the_script_and_its_pauses(ended: Path, rerail: Rerail) -> None:
    shown = rerail("show", ended)
    assert shown.status == 0
    [script] = [line for line in shown.lines if line.startswith("script\t")]
    assert script.endswith("4 pauses; ended well")
    pauses = [line.split("\t") for line in shown.lines[-4:]]
    assert [(row[0], row[1], row[4]) for row in pauses] == [
        ("1", "think", "answered"),
        ("2", "think", "answered"),
        ("3", "think", "answered"),
        ("4", "deploy", "PermissionError"),
    ]
    assert "command" not in shown.out


def test_one_that_waits_is_parked_and_not_lost(parked: Path, rerail: Rerail) -> None:
    shown = rerail("show", parked)
    assert "state\tparked" in shown.out
    assert "waits at pause 2 for `think`" in shown.out
    assert "lost" not in shown.out


def test_one_whose_host_died_in_a_call_says_what_may_have_run(
    tmp_path: Path, rerail: Rerail
) -> None:
    def stopped(call: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Script.start("tool('pay')", tape=tmp_path / "run.tape", tools={"pay": stopped})
    shown = rerail("show", tmp_path / "run.tape")
    assert "waits at pause 1 for `pay`, which may have run" in shown.out


def test_a_fork_names_where_it_goes_on(ended: Path, tmp_path: Path, rerail: Rerail) -> None:
    fork = Script.fork(ended, 2, output=tmp_path / "fork.tape", tools=TOOLS)
    fork.go_on()
    shown = rerail("show", tmp_path / "fork.tape")
    assert "forked\tat pause 2 of run-" in shown.out
    assert "call 1" not in shown.out
    family = rerail("show", tmp_path)
    assert "fork of run.tape at s2" in family.out


def test_the_steps_of_a_script_are_its_pauses(ended: Path, rerail: Rerail) -> None:
    steps = rerail("steps", ended)
    assert steps.status == 0
    assert '… 2 entries as before", "after 2"' in steps.out
    assert '  answered  {"said": "after 3"}' in steps.lines
    assert '  raised    "not on a Friday"' in steps.lines
    assert "\x1b" not in steps.out


def test_one_step_is_whole(ended: Path, rerail: Rerail) -> None:
    whole = rerail("steps", ended, "3")
    assert whole.lines[0].startswith("pause 3  think  line 3")
    assert whole.out.count('"after') == 3
    rerail("steps", ended, "9").assert_complaint(2, "no pause 9", "1 to 4")


def test_as_json(ended: Path, rerail: Rerail) -> None:
    pauses = rerail("steps", ended, "--json").json["pauses"]
    assert [pause["pause"] for pause in pauses] == [1, 2, 3, 4]
    assert pauses[0]["arguments"] == {"history": ["begin"]}
    assert (pauses[3]["raised"], pauses[3]["answer"]) == ("PermissionError", "not on a Friday")
    assert rerail("show", ended, "--json").json["pauses"][0]["state"]["size"] > 1000


def test_every_event_can_be_shown(ended: Path, rerail: Rerail) -> None:
    events = rerail("show", ended, "--events")
    assert "(a kind that this version" not in events.out
    for line in events.lines:
        shown = rerail("show", ended, line.split("\t")[0])
        assert shown.status == 0
    [printed] = [line.split("\t")[0] for line in events.lines if "script.printed" in line]
    assert rerail("show", ended, printed, "--raw").out == "refused: not on a Friday\n"


def test_a_state_that_is_damaged_does_not_keep_the_rest_from_being_shown(
    ended: Path, rerail: Rerail
) -> None:
    connection = sqlite3.connect(ended)
    connection.execute("UPDATE blob SET data = zeroblob(length(data))")
    connection.commit()
    connection.close()
    shown = rerail("steps", ended)
    assert shown.status == 1
    assert '"(cannot be read)"' in shown.out
    assert rerail("show", ended).status == 0


@pytest.mark.parametrize("verb", [["replay"], ["rewind", "--to", "2", "--hint", "x"]])
def test_there_is_no_command_to_run_again(ended: Path, verb: list[str], rerail: Rerail) -> None:
    refused = rerail(verb[0], ended, *verb[1:])
    assert refused.status == 2


def test_why_finds_what_a_tool_answered_and_what_was_given(tmp_path: Path, rerail: Rerail) -> None:
    tools = {"find": lambda call: {"customer": "CUST-4471"}}
    code = "found = tool('find', {'task': task})\ntool('find', found)"
    Script.start(code, tape=tmp_path / "run.tape", tools=tools, inputs={"task": "TASK-1841"})
    told = rerail("why", tmp_path / "run.tape", "CUST-4471")
    assert told.status == 0
    assert "tool find" in told.lines[0]
    assert "told" in told.lines[-1]
    given = rerail("why", tmp_path / "run.tape", "TASK-1841")
    assert "given to the run" in given.lines[0]
    assert rerail("why", tmp_path / "run.tape", "nothing-like-it").status == 1


def test_diff_names_the_pause_at_which_runs_part(
    ended: Path, tmp_path: Path, rerail: Rerail
) -> None:
    same = Script.fork(ended, 2, output=tmp_path / "same.tape", tools=TOOLS)
    same.go_on()
    assert rerail("diff", ended, same.tape).status == 0
    fork = Script.fork(ended, 2, output=tmp_path / "fork.tape", tools=TOOLS)
    fork.answer(fork.pending.token, {"said": "otherwise"})
    found = rerail("diff", ended, fork.tape)
    assert found.status == 1
    assert "pause 2, `think`, was answered otherwise" in found.out
    assert "otherwise" in found.out
    assert "pause 3, `think`, asks otherwise" in found.out


def test_diff_names_a_pause_that_only_one_came_to(
    ended: Path, parked: Path, rerail: Rerail
) -> None:
    found = rerail("diff", ended, parked)
    assert "pause 3 is not come to: `think`" in found.out


def test_no_test_is_made_of_a_tape_without_a_command(
    ended: Path, tmp_path: Path, rerail: Rerail
) -> None:
    refused = rerail("test", ended, "-o", tmp_path / "tests")
    assert (refused.status, "no command" in refused.err) == (2, True)


def test_a_parent_that_has_grown_since_is_found(
    parked: Path, tmp_path: Path, rerail: Rerail
) -> None:
    Script.fork(parked, 1, output=tmp_path / "fork.tape", tools=TOOLS).go_on()
    assert "fork of parked.tape at s1" in rerail("show", tmp_path).out
    Script.resume(parked, tools=TOOLS)
    assert "fork of parked.tape at s1" in rerail("show", tmp_path).out


def test_an_answer_nested_beyond_all_measure_is_no_answer(
    parked: Path, tmp_path: Path, rerail: Rerail
) -> None:
    """As a stranger's tape may have one."""
    deep, changed = b"[" * 100_000, tmp_path / "changed.tape"
    writer = TapeWriter.create(changed)
    digest = writer.blob(CleanBytes(deep))
    with Tape.open(parked) as tape:
        for content in tape.evidence.digests():
            writer.blob(CleanBytes(tape.blob(content)))
        for event in tape.events():
            if isinstance(event, ScriptAnswered):
                event = replace(event, answer=Body(digest=digest, size=len(deep)))
            writer.append(CleanRecord(event))
    writer.close()
    assert "(cannot be read)" in rerail("steps", changed).out
