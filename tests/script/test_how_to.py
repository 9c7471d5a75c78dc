"""The pieces of `docs/how-to/durable-scripts.md` run as they stand there."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Result, rerail  # noqa: F401  # a fixture

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "durable-scripts.md"
AGENT, HOST, LATER, FORK = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the page takes for granted: its script, a model, and a folder for tapes."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    Path("agent.py").write_text(AGENT)

    def ask_my_model(history: list[object], idempotency_key: str) -> str:
        assert idempotency_key
        return "done" if len(history) > 1 else "thinking"

    return {"ask_my_model": ask_my_model, "reply": "done"}


def test_the_script_and_its_host(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    exec(HOST, names)
    assert capsys.readouterr().out == "{'turns': 2, 'said': 'done'}\n"
    names["tools"] = {"think": names["repeatable"](names["think"])}
    exec(FORK.replace(", 3, ", ", 2, "), names)
    assert capsys.readouterr().out == "{'turns': 2, 'said': 'done'}\n"
    assert Path("runs/task-1841.fork.tape").exists()


def test_an_answer_that_comes_later(names: dict[str, Any]) -> None:
    exec(HOST, names)
    first, second = LATER.split("\n\n")
    names["code"] = "tool('approve', {'what': 'deploy'})"
    exec(first.replace("run.close()", "token = run.pending.token; run.close()"), names)
    exec(second, names)
    assert names["run"].result() == {"approved": True}


def test_the_check(names: dict[str, Any], rerail: Callable[..., Result]) -> None:  # noqa: F811
    [(arguments, said)] = re.findall(
        r"\$ rerail (check agent\.py .*)\n(.*)\n", PAGE.read_text("utf-8")
    )
    given = re.findall(r"'([^']*)'|(\S+)", arguments)
    checked = rerail(*(quoted or plain for quoted, plain in given))
    assert checked.out == f"{said}\n"
