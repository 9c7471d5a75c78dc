"""Where no tape is named, the newest in `runs/` is meant, and said."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.cli.newest import newest_tape, tape_and_number, tape_and_value
from rerail.errors import UsageProblem
from rerail.testing.tapes import Recording

Rerail = Callable[..., Any]


@pytest.fixture
def two(
    make_tape: Callable[..., Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Two tapes in `runs`; the newer one."""
    (tmp_path / "runs").mkdir()
    for age, name in ((100, "runs/new.tape"), (200, "runs/old.tape")):
        made = make_tape(name, task_id=name)
        made.chat(1)
        made.reply(1, [b"{}"])
        made.end()
        made.writer.close()
        os.utime(made.path, ns=(10**18 - age, 10**18 - age))
    monkeypatch.chdir(tmp_path)
    return Path("runs/new.tape")


def test_the_newest_is_taken_and_said(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert newest_tape() == two
    assert tape_and_number(None, None) == (two, None)
    assert tape_and_number(Path("s3"), None) == (two, "s3")
    assert tape_and_value(Path("CUST-4471"), None) == (two, "CUST-4471")
    assert capsys.readouterr().err.splitlines() == ["rerail: runs/new.tape"] * 3


def test_what_is_named_is_meant(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("12").touch()
    assert tape_and_number(Path("12"), None) == (Path("12"), None)
    assert tape_and_number(Path("other.tape"), None) == (Path("other.tape"), None)
    assert tape_and_number(Path("12"), "r1") == (Path("12"), "r1")
    assert tape_and_value(Path("other.tape"), "x") == (Path("other.tape"), "x")
    for word in (two, Path("other.tape"), Path("12")):
        with pytest.raises(UsageProblem, match="no value"):
            tape_and_value(word, None)
    assert capsys.readouterr().err == ""


def test_none_is_there(tmp_path: Path, rerail: Rerail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["show"], ["steps", "3"], ["why", "x"], ["replay"]):
        rerail(*words).assert_complaint(2, "no tape in `runs/`", "rerail record")


def test_the_verbs_take_it(two: Path, rerail: Rerail) -> None:
    for words in (["show"], ["show", "r1"], ["steps"], ["steps", "1"], ["show", "--events"]):
        done = rerail(*words)
        assert (done.status, done.err) == (0, f"rerail: {two}\n"), words
        assert done.out == rerail(words[0], two, *words[1:]).out
    assert rerail("why", "gpt-nothing").status == 1
