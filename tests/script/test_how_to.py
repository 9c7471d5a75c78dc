"""The pieces of `docs/how-to/durable-scripts.md` run as they stand there."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Result, rerail  # noqa: F401  # a fixture

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "durable-scripts.md"
AGENT, HOST, LATER, AGAIN, FORK = re.findall(
    r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
)


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of a program beside the page's script; it begins with none."""
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text(AGENT)
    return {}


def test_the_script_and_its_host(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    exec(HOST, names)
    assert capsys.readouterr().out == "{'turns': 3, 'said': 'done'}\n"
    exec(FORK, names)
    assert capsys.readouterr().out == "{'turns': 4, 'said': 'done'}\n"
    assert Path("runs/task-1841.fork.tape").exists()


def test_an_answer_that_comes_later(names: dict[str, Any]) -> None:
    exec(HOST, names)
    exec(LATER, names)
    assert names["run"].result() == {"turns": 1, "said": "done"}


def test_a_host_that_is_started_again_and_again(names: dict[str, Any]) -> None:
    exec(HOST, names)
    exec(AGAIN, names)
    tape = Path("runs/again.tape")
    came_to = [names["run_or_go_on"](tape) for _ in range(2)]
    assert came_to == [{"turns": 3, "said": "done"}] * 2


def test_the_check(names: dict[str, Any], rerail: Callable[..., Result]) -> None:  # noqa: F811
    [(arguments, said)] = re.findall(
        r"\$ rerail (check agent\.py .*)\n(.*)\n", PAGE.read_text("utf-8")
    )
    given = re.findall(r"'([^']*)'|(\S+)", arguments)
    checked = rerail(*(quoted or plain for quoted, plain in given))
    assert checked.out == f"{said}\n"
