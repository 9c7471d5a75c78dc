"""What must be readable for a program to run: itself, its prefix, its interpreter."""

from pathlib import Path

import pytest

from rerail.task.installed import places_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A tool in a virtual environment of its own, on the path by a link; a Python elsewhere."""
    python = tmp_path / "pyenv" / "3.11" / "bin" / "python3.11"
    tool = tmp_path / "venvs" / "tool" / "bin" / "tool"
    for file in (python, tool):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"\x7fELF")
        file.chmod(0o755)
    (tool.parent / "python").symlink_to(python)
    tool.write_text(f"#!{tool.parent}/python\nimport tool\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(tool)
    return tmp_path


def test_the_prefix_of_what_it_leads_to_and_of_its_interpreter(home: Path) -> None:
    found = places_of(home / "bin" / "tool", {}, but_not_above=[home])
    assert home / "venvs" / "tool" in found
    assert home / "pyenv" / "3.11" in found
    assert home not in found


def test_env_is_looked_through(home: Path) -> None:
    script = home / "bin" / "script"
    script.write_text("#!/usr/bin/env -S python3.11 -u\n")
    path = {"PATH": str(home / "pyenv" / "3.11" / "bin")}
    assert home / "pyenv" / "3.11" in places_of(script, path, but_not_above=[home])
    assert places_of(script, {"PATH": "/nowhere"}, but_not_above=[home])


@pytest.mark.parametrize("first", [b"", b"#!\n", b"#!/usr/bin/env\n", b"\xff\xfe", b"#!/no/such\n"])
def test_what_names_no_interpreter_is_a_program_alone(home: Path, first: bytes) -> None:
    script = home / "bin" / "script"
    script.write_bytes(first)
    assert script in places_of(script, {"PATH": "/nowhere"}, but_not_above=[home])


def test_two_scripts_that_name_each_other_come_to_an_end(home: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (home / "bin" / name).write_text(f"#!{home}/bin/{other}\n")
    assert len(places_of(home / "bin" / "a", {}, but_not_above=[home])) == 2
