"""`rerail check`: findings by place, a dry run on given answers, the states of a tape."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.script import Script
from tests.cli.conftest import Result
from tests.script.test_proof import forged, with_another_state

Rerail = Callable[..., Result]

SCRIPT = """\
limit = 2
for turn in range(limit):
    answer = tool("think", {"task": task})
answer["content"]
"""


@pytest.fixture(autouse=True)
def user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "user"))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    tools = {"think": lambda call: {"content": call.arguments["task"]}}
    given = {"task": "mend it"}
    Script.start(SCRIPT, tape=tmp_path / "run.tape", tools=tools, inputs=given, name="agent.py")
    return tmp_path / "run.tape"


def test_a_finding_has_its_place_and_the_mend(tmp_path: Path, rerail: Rerail) -> None:
    path = tmp_path / "bad.py"
    path.write_text("x = 1\ndel x\nsorted([1], key=lambda n: tool('a'))\n")
    found = rerail("check", path)
    assert found.status == 1
    assert found.lines == [
        f"{path}:2:1: `del` does not run; assign None, or use pop()",
        f"{path}:3:17: a tool cannot be called from within `sorted`; "
        "call it in a loop before, and keep what it gave",
    ]


def test_it_runs_dry_on_the_answers_that_are_given(script: Path, rerail: Rerail) -> None:
    answer = 'think={"content": "done"}'
    found = rerail("check", script, "--given", 'task="x"', "--answer", answer)
    assert (found.status, found.lines) == (
        0,
        [f"{script}: nothing found; it ran dry to its end, 2 calls of tools"],
    )


def test_without_an_answer_it_says_how_far_it_came(script: Path, rerail: Rerail) -> None:
    found = rerail("check", script, "--given", 'task="x"')
    assert found.status == 0
    assert "at line 3, `think` has no answer" in found.lines[0]
    assert "--answer" in found.lines[1]


def test_the_answers_of_an_earlier_run(script: Path, tape: Path, rerail: Rerail) -> None:
    script.write_text(SCRIPT.replace('"content"]', '"text"]'))
    found = rerail("check", script, "--answers", tape)
    assert found.status == 1
    assert found.lines == [
        f"{script}:4:1: it fails: KeyError: text",
    ]


def test_as_json(script: Path, rerail: Rerail) -> None:
    found = rerail("check", script, "--json").json
    assert found["findings"][0]["line"] == 3
    assert found["calls"] == []


def test_the_states_of_a_tape(tape: Path, tmp_path: Path, rerail: Rerail) -> None:
    well = rerail("check", tape)
    assert (well.status, well.lines) == (
        0,
        [f"{tape}: 2 states as the script and its answers make them"],
    )
    other = forged(tape, tmp_path / "forged.tape", lambda e, to: with_another_state(e, to, b"x"))
    found = rerail("check", other)
    assert found.status == 1
    assert "the state of pause 1 is not what" in found.lines[0]
    assert rerail("check", tape, "--json").json["well"] is True


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--given", "task"], "no NAME=JSON"),
        (["--answer", "think={"], "no NAME=JSON"),
        (["--answers", "missing.tape"], "missing.tape"),
    ],
)
def test_bad_usage(script: Path, arguments: list[str], what: str, rerail: Rerail) -> None:
    rerail("check", script, *arguments).assert_complaint(2, what)


def test_what_is_no_script(tmp_path: Path, tape: Path, rerail: Rerail) -> None:
    rerail("check", tmp_path / "none.py").assert_complaint(2, "none.py")
    (tmp_path / "picture.py").write_bytes(b"\xff\xfe")
    rerail("check", tmp_path / "picture.py").assert_complaint(2, "no text")
    rerail("check", tape, "--given", "a=1").assert_complaint(2, "its own names")
