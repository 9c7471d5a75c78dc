"""The file of a kept test: a name fit for Python, strangers' words as words, nothing replaced."""

import ast
from pathlib import Path

import pytest

from rerail.errors import UserError
from rerail.tape.reader import Tape
from rerail.testing.regression import Regression
from rerail.testing.tapes import Recording


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    made = Recording.begin(tmp_path / "run.tape")
    made.end(1)
    return made.path


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("task-1841", "test_task_1841.py"),
        ("Wrong customer!", "test_wrong_customer.py"),
        ("../../etc", "test_etc.py"),
        ("größer", "test_gr_er.py"),
        ("…", "test_run.py"),
    ],
)
def test_any_name_is_a_name_of_python(tape: Path, name: str, file: str) -> None:
    made = Regression(name, ["agent"], "avoid", "r1")
    assert made.file == file
    with Tape.open(tape) as opened:
        [function] = [
            node for node in ast.parse(made.text(opened, "..")).body
            if isinstance(node, ast.FunctionDef)
        ]  # fmt: skip
    assert function.name == f"{file[:-3]}_does_not_go_wrong_again"


def test_a_long_command_is_a_line_a_word(tape: Path) -> None:
    command = ["python3", "agent.py", *(f"--option-{number}" for number in range(9)), 'a "b"\n']
    with Tape.open(tape) as opened:
        text = Regression("x", command, "follow").text(opened, "..")
    [mark] = [
        node for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.keyword) and node.arg == "command"
    ]  # fmt: skip
    assert ast.literal_eval(mark.value) == command
    assert max(map(len, text.splitlines())) < 100


def test_it_is_written_with_its_tape_and_replaces_nothing_unasked(
    tape: Path, tmp_path: Path
) -> None:
    made = Regression("x", ["agent"], "reproduce", "s1")
    with Tape.open(tape) as opened:
        test, data = made.write(opened, tmp_path / "tests", project=tmp_path, overwrite=False)
        assert (test.name, data.read_bytes()) == ("test_x.py", tape.read_bytes())
        assert 'folder=".."' in test.read_text()
        test.unlink()
        with pytest.raises(UserError, match=r"x\.tape is there already"):
            made.write(opened, tmp_path / "tests", project=tmp_path, overwrite=False)
        assert not test.exists()
        made.write(opened, tmp_path / "tests", project=tmp_path, overwrite=True)
        assert test.exists()
