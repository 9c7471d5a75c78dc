"""Real agents at a small task: recorded on their default hosts, replayed without any."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.journeys.rail import Rail
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


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.usefixtures("model")
def test_an_agent_is_replayed_to_its_end(
    rail: Rail, agents: Path, desk: Path, need: Callable[[Path], Path], kind: AgentKind
) -> None:
    program = need(agents / kind.program)
    recorded = rail.record(
        str(program),
        *kind.arguments,
        tape="../run.tape",
        options=[f"-e{kept}" for kept in kind.kept],
        seconds=180,
    )
    assert recorded.status == 0, recorded.said
    assert (desk / NOTES).read_text() == AFTER
    rail.stop_origins()
    replayed = rail.replay(recorded.tape, seconds=180)
    assert replayed.green, replayed.said
