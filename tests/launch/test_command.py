"""Finding a program: as execvp does it, and in plain words where there is none."""

import errno
import os
from pathlib import Path

import pytest

from rerail.errors import CommandNotExecutable, CommandNotFound, UsageProblem
from rerail.launch.command import cannot_start, find_program


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_the_first_executable_on_path_wins(tmp_path: Path) -> None:
    program(tmp_path / "a" / "agent", 0o644)
    program(tmp_path / "b" / "agent")
    program(tmp_path / "c" / "agent")
    path = ":".join(str(tmp_path / name) for name in "abc")
    assert find_program("agent", {"PATH": path}, tmp_path) == str(tmp_path / "b" / "agent")


def test_a_path_with_a_slash_is_not_searched_and_stays_as_it_was_typed(tmp_path: Path) -> None:
    program(tmp_path / "tools" / "agent")
    assert find_program("tools/agent", {"PATH": ""}, tmp_path) == "tools/agent"


def test_an_empty_entry_of_path_is_the_current_folder(tmp_path: Path) -> None:
    program(tmp_path / "agent")
    assert find_program("agent", {"PATH": "/nowhere:"}, tmp_path) == "./agent"


def test_without_path_the_systems_folders_are_searched(tmp_path: Path) -> None:
    assert Path(find_program("sh", {}, tmp_path)).name == "sh"


def test_a_name_that_is_nowhere_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(CommandNotFound, match="there is no program `agnet` on PATH") as caught:
        find_program("agnet", {"PATH": str(tmp_path)}, tmp_path)
    assert caught.value.exit_code == 127


def test_a_path_that_is_nowhere_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(CommandNotFound, match=r"there is no file `\./agent`"):
        find_program("./agent", {}, tmp_path)


def test_a_command_in_one_quoted_word_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(CommandNotFound) as caught:
        find_program("python3 agent.py", {"PATH": str(tmp_path)}, tmp_path)
    assert "without quotes" in (caught.value.hint or "")


def test_a_file_without_the_execute_bit_is_said_to_be_so(tmp_path: Path) -> None:
    program(tmp_path / "agent.py", 0o644)
    with pytest.raises(CommandNotExecutable, match="is not executable") as caught:
        find_program("./agent.py", {}, tmp_path)
    assert caught.value.exit_code == 126
    assert "chmod +x ./agent.py" in (caught.value.hint or "")


def test_a_folder_is_not_a_program(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    with pytest.raises(CommandNotExecutable, match="it is a folder"):
        find_program("./agent", {}, tmp_path)


def test_a_folder_on_path_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a" / "agent").mkdir(parents=True)
    with pytest.raises(CommandNotFound):
        find_program("agent", {"PATH": str(tmp_path / "a")}, tmp_path)


def test_an_empty_command_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem):
        find_program("", {}, tmp_path)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOENT, "the interpreter its first line names does not exist"),
        (errno.E2BIG, "its arguments and environment are too long"),
        (errno.EACCES, os.strerror(errno.EACCES)),
        (errno.ETXTBSY, os.strerror(errno.ETXTBSY)),
    ],
)
def test_the_systems_refusals_are_told_apart(number: int, words: str) -> None:
    error = cannot_start("agent", "/bin/agent", OSError(number, ""))
    assert error.exit_code == 126
    assert words in error.what
