"""`rerail test`: what it writes, and what it refuses."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.testing.tapes import Recording


@pytest.fixture
def failed(make_tape: Callable[..., Recording]) -> Path:
    made = make_tape(task_id="task-1841", argv=["python3", "agent.py", "--say", 'a "word"'])
    made.chat(1)
    made.reply(1, [b"{}"])
    made.end(3)
    return made.path


def test_a_run_that_failed_must_not_fail_again(
    failed: Path, tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    told = rerail("test", failed, "-o", tmp_path / "kept")
    assert told.status == 0
    text = (tmp_path / "kept" / "test_task_1841.py").read_text()
    assert 'assert replayed_run.avoids("end")' in text
    assert '["python3", "agent.py", "--say", "a \\"word\\""]' in text
    assert (tmp_path / "kept" / "tapes" / "task_1841.tape").read_bytes() == failed.read_bytes()
    ast.parse(text)


def test_a_place_another_name_another_command(
    failed: Path, tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    options = ("--at", "s1", "--name", "Wrong customer!", "--expect", "reproduce", "--json")
    told = rerail("test", failed, "-o", tmp_path, *options, "--", "sh", "new.sh")
    assert told.json["at"] == "s1"
    assert told.json["command"] == ["sh", "new.sh"]
    assert 'replayed_run.reproduces("s1")' in (tmp_path / "test_wrong_customer.py").read_text()


def test_a_run_that_ended_well_is_followed(
    make_tape: Callable[..., Recording], tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    made = make_tape()
    made.chat(1)
    made.end()
    assert rerail("test", made.path, "-o", tmp_path).status == 0
    assert "replayed_run.follows()" in (tmp_path / "test_task_1.py").read_text()
    told = rerail("test", made.path, "-o", tmp_path, "--name", "x", "--expect", "avoid")
    told.assert_complaint(2, "nothing says where it went wrong", "--at")


def test_a_strangers_words_stay_words(
    make_tape: Callable[..., Recording], tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    evil = '""" + __import__("os").system("x") + """'
    made = make_tape(task_id=f"../{evil}", run_id=evil, argv=[evil])
    made.end(1)
    assert rerail("test", made.path, "-o", tmp_path / "kept").status == 0
    (file,) = (tmp_path / "kept").glob("*.py")
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    assert {ast.unparse(call.func) for call in calls} == {
        "pytest.mark.tape", "replayed_run.avoids",
    }  # fmt: skip


def test_whose_tape_it_is_is_said_where_it_is_a_strangers(
    failed: Path, tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    told = rerail("test", failed, "-o", tmp_path / "kept")
    assert "not recorded by you on this machine" in told.err
    assert "python3 agent.py" in told.err
    own = tmp_path / "own.tape"
    assert rerail("record", "-q", "-o", own, "--", "false").status == 1
    assert "not recorded" not in rerail("test", own, "-o", tmp_path / "kept").err


def test_a_request_that_is_no_model_call_is_no_step(
    make_tape: Callable[..., Recording], tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    made = make_tape()
    made.request(1)
    made.end(1)
    options = ("-o", tmp_path, "--at", "s1")
    rerail("test", made.path, *options).assert_complaint(2, "no s1 on this tape", "rerail show")


def test_what_cannot_be_made(failed: Path, tmp_path: Path, rerail: Callable[..., Any]) -> None:
    rerail("test", tmp_path / "no.tape").assert_complaint(2, "cannot open tape")
    rerail("test", failed, "--at", "r0").assert_complaint(2, "`r0` is no request", "--at r6")
    rerail("test", failed, "--at", "s9").assert_complaint(2, "no s9 on this tape", "rerail show")
    assert rerail("test", failed, "-o", tmp_path).status == 0
    again = rerail("test", failed, "-o", tmp_path)
    again.assert_complaint(2, "is there already", "--force")
    assert rerail("test", failed, "-o", tmp_path, "--force").status == 0


def test_a_case_without_a_place_is_no_good_run(
    make_tape: Callable[..., Recording], tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    made = make_tape()
    made.chat(1)
    made.reply(1, [b"{}"])
    made.end()
    case = tmp_path / "case"
    opened = ("trace", "open", made.path, "--question", "Why?", "-o", case, "--no-hold")
    assert rerail(*opened).status == 0
    asked = ("test", made.path, "-o", tmp_path / "kept", "--case", case)
    rerail(*asked).assert_complaint(2, "no first divergence", "--at end")
    assert not (tmp_path / "kept").exists()
    assert rerail(*asked, "--at", "s1").status == 0
