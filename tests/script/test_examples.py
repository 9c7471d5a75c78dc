"""The example does what it says: a first run that fails, and a fork of it that does not."""

import runpy
from pathlib import Path

import pytest

from rerail.script.check import check_script
from rerail.script.verifying import verify_states
from rerail.tape.reader import Tape
from rerail.tape.seal import verify

REPAIR = Path(__file__).parents[2] / "examples" / "repair"


def test_the_repair_agent_is_forked_where_it_was_closest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = runpy.run_path(str(REPAIR / "host.py"))
    host["main"](tmp_path / "runs")
    assert capsys.readouterr().out.splitlines() == [
        "first run: ['view.ts: no `name`']",
        "from pause 5, with a hint: []",
    ]
    for name in ("first", "fork"):
        with Tape.open(tmp_path / "runs" / f"{name}.tape") as tape:
            assert verify(tape).intact
            assert verify_states(tape).well


def test_the_repair_agent_passes_its_check() -> None:
    host = runpy.run_path(str(REPAIR / "host.py"))
    code = (REPAIR / "agent.py").read_text("utf-8")
    answers = {"think": [{"content": '{"tool": "check"}'}], "tsc": [{"errors": []}]}
    checked = check_script(code, name="agent.py", inputs=host["TASK"], answers=answers)
    assert checked.findings == []
    assert checked.ran
