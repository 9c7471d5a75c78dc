"""Real agents at a small task: recorded on their default hosts, replayed without any."""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.rail import Rail, Recorded
from tests.real_agents.chores import AFTER, NOTES, TASK

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class AgentKind:
    """How to run one agent; paths are below the folder of the installed agents."""

    name: str
    program: str
    arguments: tuple[str, ...]
    kept: tuple[str, ...] = ()


KINDS = [
    AgentKind(
        "claude", "npm/node_modules/.bin/claude", ("-p", TASK, "--allowedTools", "Bash,Read,Edit")
    ),
    AgentKind(
        "codex",
        "npm/node_modules/.bin/codex",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", TASK),
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
    """Its folder is gone, its home is another one, the host has another name, and it is tomorrow.

    Tomorrow is a matter of the time zone: a static program can be shown no other clock.
    """
    need(Path("unshare"))
    recorded = recorded_offline(
        rail, need(agents / kind.program), kind, environment={"TZ": "WEST12"}
    )
    tape = recorded.tape.resolve()
    rail.folder.rename(tmp_path / "away")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "another-home").mkdir()
    rail.folder = tmp_path / "elsewhere"
    rail.environment["HOME"] = str(tmp_path / "another-home")
    report = tmp_path / "elsewhere.json"
    words = rail.rerail("replay", "--report", str(report), str(tape))
    renamed = f"hostname other-host && exec {shlex.join(words)}"
    ran = rail.run(
        "unshare", "--uts", "sh", "-c", renamed, environment={"TZ": "EAST-14"}, seconds=180
    )
    assert ran.status == 0, ran.said
    assert json.loads(report.read_bytes())["verdict"]["green"]
