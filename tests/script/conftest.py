"""A small agent as a durable script, and a user whose key lies in a folder of the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

AGENT = """\
history = [{"role": "user", "content": task}]
files = {"a.ts": "let a: number = 'x';"}
turn = 0
while turn < limit:
    answer = tool("think", {"history": history, "turn": turn})
    limit = heard(answer, history, limit)
    history.append({"role": "assistant", "content": answer["content"]})
    files[f"{turn}.ts"] = answer["content"] * 20
    turn += 1
errors = tool("check", files=files)["errors"]
{"turns": turn, "said": [entry["content"] for entry in history], "errors": errors}
"""
GIVEN = {"task": "mend it", "limit": 3}


@pytest.fixture(autouse=True)
def user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own data folder; its key is made once a session."""
    folder = tmp_path_factory.getbasetemp() / "user"
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """From here on it is somebody else."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    yield tmp_path / "another"
