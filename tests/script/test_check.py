"""A script is checked before anything is paid; a dry run goes where its answers lead."""

from typing import Any

from rerail.script.check import Checked, check_script
from tests.script.conftest import AGENT, GIVEN

ANSWERS = {"think": [{"content": "x"}], "check": [{"errors": 0}]}


def checked(code: str, answers: Any = None, **inputs: Any) -> Checked:
    return check_script(code, name="agent.py", inputs=inputs, answers=answers or {})


def test_a_sound_agent_runs_dry_to_its_end() -> None:
    found = checked(AGENT, ANSWERS, **GIVEN)
    assert found.findings == []
    assert found.ran
    assert found.calls == ["think", "think", "think", "check"]
    assert found.output["turns"] == 3


def test_answers_come_in_turn_and_the_last_again_and_again() -> None:
    code = "[tool('a') for _ in range(4)]"
    assert checked(code, {"a": [1, 2, 3]}).output == [1, 2, 3, 3]


def test_without_an_answer_it_says_how_far_it_came() -> None:
    found = checked(AGENT, {"think": ANSWERS["think"]}, **GIVEN)
    assert found.findings == []
    assert not found.ran
    assert found.stopped == "at line 10, `check` has no answer"


def test_a_text_that_is_no_python() -> None:
    [found] = checked("def f(:").findings
    assert found.line == 1
    assert "no Python" in found.what


def test_names_that_nobody_sets_are_found() -> None:
    found = checked("tool('a', {'x': lmit})", limit=3).findings
    assert [(item.line, "lmit" in item.what) for item in found] == [(1, True)]
    assert "--given" in found[0].mend


def test_what_the_type_checker_sees() -> None:
    assert "sys" in checked("import sys\nsys.exit(1)").findings[0].what
    assert "contextlib" in checked("import contextlib").findings[0].what
    assert "str" in checked("tool(3)").findings[0].what


def test_builtins_that_run_are_no_finding() -> None:
    code = "a = list(map(str, filter(None, [0, 1])))\n[getattr(1, 'real', 0), hasattr(1, 'a'), a]"
    assert checked(code).findings == []


def test_what_fails_on_the_way_is_found_with_its_line() -> None:
    [found] = checked("answer = tool('a')\nanswer['content']", {"a": [{}]}).findings
    assert (found.line, found.what) == (2, "it fails: KeyError: content")


def test_a_dry_run_ends() -> None:
    assert "after 1000 calls" in checked("while True:\n    tool('a')", {"a": [1]}).stopped
    [found] = checked("while True:\n    pass").findings
    assert "TimeoutError" in found.what


def test_a_dry_run_does_not_sleep() -> None:
    found = checked(
        "import time, random\ntime.sleep(3600)\ntime.time() > 0 and random.random() < 1"
    )
    assert (found.ran, found.output) == (True, True)


def test_a_script_without_a_fault_is_not_run_by_its_type_check_for_long() -> None:
    assert checked("tool('a')\nwhile True:\n    pass").stopped


def test_it_may_wait_at_its_top() -> None:
    code = "import asyncio\nasync def f():\n    return tool('a')\nawait asyncio.gather(f(), f())"
    found = checked(code, {"a": [1, 2]})
    assert (found.findings, found.output) == ([], [1, 2])
