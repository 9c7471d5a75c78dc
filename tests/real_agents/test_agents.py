"""Real agents at a small task: recorded on their default hosts, replayed without any."""

import json
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.rail import Rail, Ran, Recorded
from tests.real_agents import shifted_clock
from tests.real_agents.chores import AFTER, NOTES, TASK

DAY_NS = 86_400 * 10**9
SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class AgentKind:
    """How to run one agent; paths are below the folder of the installed agents."""

    name: str
    program: str
    arguments: tuple[str, ...]
    kept: tuple[str, ...] = ()
    is_native: bool = False


KINDS = [
    AgentKind(
        "claude",
        "npm/node_modules/.bin/claude",
        ("-p", TASK, "--allowedTools", "Bash,Read,Edit"),
        is_native=True,
    ),
    AgentKind(
        "codex",
        "npm/node_modules/.bin/codex",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", TASK),
        is_native=True,
    ),
    AgentKind(
        "qwen",
        "npm/node_modules/.bin/qwen",
        ("--yolo", "--auth-type", "openai", "--model", "gpt-5-mini", "-p", TASK),
        ("OPENAI_BASE_URL=https://api.openai.com/v1",),
    ),
    AgentKind(
        "aider",
        "aider/bin/aider",
        (
            "--yes-always",
            "--model",
            "openai/gpt-4o",
            "--no-show-release-notes",
            "--test-cmd",
            "date",
            "--auto-test",
            "--message",
            TASK,
            NOTES,
        ),
    ),
    AgentKind("openai-agents", "sdk/bin/python", (str(SCRIPTS / "openai_agents_agent.py"), TASK)),
    AgentKind("langgraph", "sdk/bin/python", (str(SCRIPTS / "langgraph_agent.py"), TASK)),
]


each_agent = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def record(rail: Rail, program: Path, kind: AgentKind, **more: Any) -> Recorded:
    recorded = rail.record(
        str(program),
        *kind.arguments,
        tape="../run.tape",
        options=[f"-e{kept}" for kept in kind.kept],
        seconds=180,
        **more,
    )
    assert recorded.status == 0, recorded.said
    return recorded


def recorded_offline(rail: Rail, program: Path, kind: AgentKind, **more: Any) -> Recorded:
    """The same, with its chores done and its model gone."""
    recorded = record(rail, program, kind, **more)
    assert (rail.folder / NOTES).read_text() == AFTER
    rail.stop_origins()
    return recorded


@each_agent
@pytest.mark.usefixtures("model")
def test_an_agent_is_replayed_to_its_end(
    rail: Rail, agents: Path, need: Callable[[Path], Path], kind: AgentKind
) -> None:
    recorded = recorded_offline(rail, need(agents / kind.program), kind)
    replayed = rail.replay(recorded.tape, seconds=180)
    assert replayed.green, replayed.said


@each_agent
@pytest.mark.usefixtures("model")
def test_an_agent_is_replayed_elsewhere_on_another_day(
    rail: Rail, agents: Path, tmp_path: Path, need: Callable[[Path], Path], kind: AgentKind
) -> None:
    """It is tomorrow there as a matter of the time zone."""
    need(Path("unshare"))
    recorded = recorded_offline(
        rail, need(agents / kind.program), kind, environment={"TZ": "WEST12"}
    )
    ran, report = replay_elsewhere(rail, recorded, tmp_path, environment={"TZ": "EAST-14"})
    assert ran.status == 0, ran.said
    assert report["verdict"]["green"]


@each_agent
@pytest.mark.usefixtures("model")
def test_an_agent_is_replayed_elsewhere_a_day_later(
    rail: Rail, agents: Path, tmp_path: Path, need: Callable[[Path], Path], kind: AgentKind
) -> None:
    """It was recorded, recorder and all, where the clock is a day behind."""
    need(Path("unshare"))
    if not shifted_clock.works_here():
        pytest.skip("the clock of static programs is only shifted on Linux, x86-64")
    yesterday = (sys.executable, shifted_clock.__file__, "-86400")
    recorded = recorded_offline(rail, need(agents / kind.program), kind, under=yesterday)
    began = recorded.events()[0]
    assert time.time_ns() - began.wall > DAY_NS
    ran, report = replay_elsewhere(rail, recorded, tmp_path)
    assert ran.status == 0, ran.said
    assert report["verdict"]["green"]
    if kind.is_native:  # others are told the recorded day again
        assert "fact: date" in {rule["name"] for rule in report["rules"]}


def replay_elsewhere(
    rail: Rail, recorded: Recorded, tmp_path: Path, **more: Any
) -> tuple[Ran, dict[str, Any]]:
    """Its folder is gone, its home is another one, and the host has another name."""
    tape = recorded.tape.resolve()
    rail.folder.rename(tmp_path / "away")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "another-home").mkdir()
    rail.folder = tmp_path / "elsewhere"
    rail.environment["HOME"] = str(tmp_path / "another-home")
    report = tmp_path / "elsewhere.json"
    words = rail.rerail("replay", "--report", str(report), str(tape))
    renamed = f"hostname other-host && exec {shlex.join(words)}"
    ran = rail.run("unshare", "--uts", "sh", "-c", renamed, seconds=180, **more)
    return ran, json.loads(report.read_bytes()) if report.exists() else {}
