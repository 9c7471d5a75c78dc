"""Starting a process: where, with what, and what it does not inherit."""

import os
from pathlib import Path

import pytest

from rerail.errors import CommandNotExecutable, CommandNotFound, UsageProblem
from rerail.launch.family import own_children
from rerail.launch.spawn import spawn
from rerail.sandbox.choose import Unconfined

NO_SANDBOX = Unconfined("a test")


def output(
    *words: str, cwd: Path, environment: dict[str, str], fork: bool = False
) -> tuple[int, str]:
    """Start, wait, and give the status and what was written to the file `out`."""
    script = ["sh", "-c", 'exec > "$1"; shift; exec "$@"', "sh", str(cwd / "out"), *words]
    sandbox = NO_SANDBOX if fork else None
    spawned = spawn(script, cwd=cwd, environment=environment, sandbox=sandbox)
    _, raw = os.waitpid(spawned.pid, 0)
    return os.waitstatus_to_exitcode(raw), (cwd / "out").read_text()


@pytest.fixture(params=["posix_spawn", "fork"])
def fork(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Each way to start a process: from its own folder, or with something to do first."""
    monkeypatch.chdir(tmp_path)
    return request.param == "fork"


def test_the_command_gets_its_words_and_its_environment_and_no_other(
    tmp_path: Path, environment: dict[str, str], fork: bool
) -> None:
    told = {**environment, "AGENT_MODE": "fast"}
    status, text = output("env", cwd=tmp_path, environment=told, fork=fork)
    names = {line.partition("=")[0] for line in text.splitlines()} - {"PWD", "_", "OLDPWD", "SHLVL"}
    assert status == 0
    assert names == {"PATH", "HOME", "AGENT_MODE"}


def test_the_command_starts_in_its_folder(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    assert output("pwd", cwd=folder, environment=environment) == (0, f"{folder}\n")


def test_no_descriptor_of_ours_leaks_and_one_handed_to_us_is_passed_on(
    tmp_path: Path, environment: dict[str, str], fork: bool
) -> None:
    ours, handed = os.pipe(), os.pipe()
    os.set_inheritable(handed[1], True)
    try:
        shown = {str(Path(f"/proc/self/fd/{pair[1]}").readlink()): pair for pair in (ours, handed)}
        listing = ("ls", "-l", "/proc/self/fd")
        _, text = output(*listing, cwd=tmp_path, environment=environment, fork=fork)
    finally:
        for descriptor in (*ours, *handed):
            os.close(descriptor)
    inherited = [pair for name, pair in shown.items() if name in text]
    assert inherited == [handed]


def test_a_script_without_a_first_line_is_given_to_the_shell(
    tmp_path: Path, environment: dict[str, str], fork: bool
) -> None:
    script = tmp_path / "agent"
    script.write_text("echo shell $1 > told\n")
    script.chmod(0o755)
    sandbox = NO_SANDBOX if fork else None
    spawned = spawn(["./agent", "one"], cwd=tmp_path, environment=environment, sandbox=sandbox)
    os.waitpid(spawned.pid, 0)
    assert (tmp_path / "told").read_text() == "shell one\n"


def test_a_missing_interpreter_is_said_to_be_that(
    tmp_path: Path, environment: dict[str, str], fork: bool
) -> None:
    script = tmp_path / "agent"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    sandbox = NO_SANDBOX if fork else None
    with pytest.raises(CommandNotExecutable, match="the interpreter its first line names"):
        spawn(["./agent"], cwd=tmp_path, environment=environment, sandbox=sandbox)


def test_a_file_that_is_no_program_is_given_to_the_shell_as_execvp_does(
    tmp_path: Path, environment: dict[str, str], fork: bool
) -> None:
    program = tmp_path / "agent"
    program.write_bytes(b"\x7fELF and then nothing")
    program.chmod(0o755)
    sandbox = NO_SANDBOX if fork else None
    words = ["sh", "-c", "exec ./agent 2>/dev/null"]
    spawned = spawn(words, cwd=tmp_path, environment=environment, sandbox=sandbox)
    _, raw = os.waitpid(spawned.pid, 0)
    assert os.waitstatus_to_exitcode(raw) in (126, 127)


def test_a_script_keeps_the_name_it_was_started_by(
    tmp_path: Path, environment: dict[str, str], fork: bool
) -> None:
    script = tmp_path / "agent"
    script.write_text("#!/bin/sh\necho $0 > told\n")
    script.chmod(0o755)
    sandbox = NO_SANDBOX if fork else None
    spawned = spawn(["./agent"], cwd=tmp_path, environment=environment, sandbox=sandbox)
    os.waitpid(spawned.pid, 0)
    assert (tmp_path / "told").read_text() == "./agent\n"


def test_a_folder_that_is_gone_is_said_before_anything_starts(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with pytest.raises(UsageProblem, match="there is no folder"):
        spawn(["true"], cwd=tmp_path / "gone", environment=environment)


def test_no_command_is_bad_usage(tmp_path: Path, environment: dict[str, str]) -> None:
    with pytest.raises(UsageProblem, match="there is no command"):
        spawn([], cwd=tmp_path, environment=environment)


def test_a_failed_start_leaves_no_process_behind(
    tmp_path: Path, environment: dict[str, str], fork: bool
) -> None:
    before = own_children()
    with pytest.raises(CommandNotFound):
        spawn(["no-such-program"], cwd=tmp_path, environment=environment)
    script = tmp_path / "agent"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    sandbox = NO_SANDBOX if fork else None
    with pytest.raises(CommandNotExecutable):
        spawn(["./agent"], cwd=tmp_path, environment=environment, sandbox=sandbox)
    assert own_children() == before
