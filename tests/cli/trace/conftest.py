"""A case in a folder of its own, and a machine state of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.testing.plane_tapes import run_8894

Verb = Callable[..., Any]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Holds are kept here."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return folder


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """The document's own example."""
    (tmp_path / "runs").mkdir()
    return run_8894(tmp_path / "runs" / "run-8894.tape")


@pytest.fixture
def case(tape: Path, rerail: Verb) -> Path:
    """A case of it, opened by ada."""
    assert rerail("trace", "open", tape, "--question", "Why STOP?", "--by", "ada").status == 0
    return tape.parent / "CASE-RUN-8894"
