"""What a step takes on the tape: the document's agent, five turns, 8,389 bytes a step there."""

from pathlib import Path

import pytest

from bench.durable import Agent
from rerail.script import Script

AT_MOST = 2000


def test_a_step_of_the_five_turn_agent_is_small(tmp_path: Path) -> None:
    Agent(tmp_path).run(repeat=True)
    tape = tmp_path / "1.tape"
    with Script.open(tape) as saved:
        steps = len(saved.pauses)
        raw = [pause.state.size for pause in saved.pauses]
    assert steps == 7
    assert min(raw) > 8000  # no smaller an agent than the document's
    assert tape.stat().st_size / steps <= AT_MOST


def test_a_long_run_grows_by_what_is_new(tmp_path: Path) -> None:
    code = "history = []\nfor turn in range(60):\n    history.append(tool('think', {'h': history}))"
    tools = {"think": lambda call: f"turn {len(call.arguments['h'])} went as {'planned ' * 30}"}
    run = Script.start(code, tape=tmp_path / "run.tape", tools=tools)
    raw = sum(pause.state.size for pause in run.pauses)
    assert run.tape.stat().st_size < raw / 10


@pytest.mark.parametrize("size", [1 << 16, 1 << 18])
def test_large_states_are_kept_against_each_other(tmp_path: Path, size: int) -> None:
    code = (
        "import hashlib\n"
        "files = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(count)]\n"
        "for turn in range(8):\n    tool('a')"
    )
    given = {"count": size // 64}
    run = Script.start(
        code, tape=tmp_path / "run.tape", tools={"a": lambda call: None}, inputs=given
    )
    assert run.pauses[-1].state.size > size
    assert run.tape.stat().st_size < 1.5 * size  # random text: once, and not eight times
