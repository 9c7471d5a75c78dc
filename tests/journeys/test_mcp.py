"""MCP servers over standard input and output: recorded, and answered for without being started."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rerail.tape.records import McpMessage
from tests.journeys.rail import AGENTS, Rail, Recorded, Replayed
from tests.node import MAJORS, node_or_skip, packages_or_skip

pytestmark = pytest.mark.journey

CALLS = ["now", 'add {"a": 1, "b": 2}', "now"]


@pytest.fixture
def server(rail: Rail) -> Path:
    """A server of its own, which can be taken away."""
    path = rail.folder / "server.py"
    path.write_text((AGENTS / "mcp_server.py").read_text())
    return path


def record_by_hand(rail: Rail, server: Path, *calls: str) -> Recorded:
    done = rail.record(*rail.python("raw_mcp_agent.py", str(server), *calls))
    assert done.status == 0, done.said
    return done


def how(replayed: Replayed) -> list[tuple[str, str]]:
    return [(child["how"], child["why"]) for child in replayed.report["children"]]


def test_a_server_is_answered_for_under_the_ids_of_now(rail: Rail, server: Path) -> None:
    done = record_by_hand(rail, server, *CALLS)
    messages = [event for event in done.events() if isinstance(event, McpMessage)]
    assert [event.sender for event in messages].count("agent") == 4
    assert json.loads(done.blob(messages[0].content))["method"] == "initialize"
    server.unlink()
    for _ in range(2):
        replayed = rail.replay(done.tape)
        assert replayed.output == done.output
        assert how(replayed) == [("given back", "")]


def test_calls_may_come_in_another_order(rail: Rail, server: Path) -> None:
    done = record_by_hand(rail, server, 'add {"a": 1}', 'add {"b": 2}')
    words = rail.python("raw_mcp_agent.py", str(server), 'add {"b": 2}', 'add {"a": 1}')
    replayed = rail.replay(done.tape, *words)
    first, second = done.text.split("\n")[1:3]
    assert replayed.text.split("\n")[1:3] == [second, first]


def test_a_call_that_is_not_on_the_tape_is_refused_and_never_green(
    rail: Rail, server: Path
) -> None:
    done = record_by_hand(rail, server, "now")
    words = rail.python("raw_mcp_agent.py", str(server), "now", 'add {"a": 5}')
    replayed = rail.replay(done.tape, *words)
    assert "rerail: `tools/call add` is not on the tape that is being replayed" in replayed.text
    assert how(replayed) == [("diverged", "`tools/call add` is not on the tape")]
    codes = [reason["code"] for reason in replayed.report["verdict"]["reasons"]]
    assert "child_diverged" in codes


def test_a_dialogue_is_shown_line_by_line(rail: Rail, server: Path) -> None:
    done = record_by_hand(rail, server, "now")
    whole = rail.run(*rail.rerail("show", str(done.tape), "p2")).text
    assert "── messages" in whole
    assert '"method": "initialize"' in whole
    raw = rail.run(*rail.rerail("show", str(done.tape), "p2", "--raw")).output
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in raw.splitlines())


def test_a_replay_that_is_recorded_answers_again(rail: Rail, server: Path) -> None:
    done = record_by_hand(rail, server, *CALLS)
    server.unlink()
    rail.replay(done.tape, options=["-o", "again.tape"])
    replayed = rail.replay(rail.folder / "again.tape")
    assert replayed.output == done.output


@pytest.mark.parametrize("package", ["mcp_server_time"])
def test_a_server_from_pypi(rail: Rail, package: str) -> None:
    for needed in ("mcp", package):
        if find_spec(needed) is None:
            pytest.skip(f"the package {needed} is not installed")
    command = json.dumps([sys.executable, "-m", package])
    words = rail.python("mcp_agent.py", command, "get_current_time", '{"timezone": "UTC"}')
    done = rail.record(*words)
    assert done.status == 0, done.said
    assert "day_of_week" in done.text
    for _ in range(2):
        replayed = rail.replay(done.tape)
        assert replayed.output == done.output
        assert how(replayed) == [("given back", "")]


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize("client", ["python", "node"])
def test_a_server_from_npm(rail: Rail, client: str, major: int) -> None:
    node = node_or_skip(major)
    packages = packages_or_skip("@modelcontextprotocol/server-everything")
    script = packages / "@modelcontextprotocol/server-everything/dist/index.js"
    command = json.dumps([node, str(script), "stdio"])
    tool = ["echo", '{"message": "hello"}']
    words = [node, str(AGENTS / "mcp_agent.mjs"), command, *tool]
    if client == "python":
        if find_spec("mcp") is None:
            pytest.skip("the package mcp is not installed")
        words = rail.python("mcp_agent.py", command, *tool)
    done = rail.record(*words, environment={"NODE_PATH": str(packages)})
    assert done.status == 0, done.said
    assert "Echo: hello" in done.text
    for _ in range(2):
        replayed = rail.replay(done.tape, environment={"NODE_PATH": str(packages)})
        assert replayed.output == done.output
        assert how(replayed) == [("given back", "")]
