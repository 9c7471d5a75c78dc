"""`rerail runs`: what a hold is placed on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Verb = Callable[..., Any]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("name", ["runs/typo.tape", "typo.tape", "runs/typo"])
def test_a_tape_that_is_not_there_is_no_task(name: str, rerail: Verb) -> None:
    refused = rerail("runs", "hold", name, "--reason", "look")
    refused.assert_complaint(2, f"there is no tape {name}")
    assert rerail("runs", "ls").out == "nothing is held\n"


def test_a_task_is_held_by_its_id(rerail: Verb) -> None:
    assert rerail("runs", "hold", "TASK-1", "--reason", "look").status == 0
    assert "TASK-1: look" in rerail("runs", "ls").out
