"""Files beside the traffic: what was there at each step, told and put back from one tape."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.tape.reader import Tape
from rerail.tape.records import WorkspaceSnapshot
from rerail.testing.model import SimulatedModel
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

AGENT = """
import pathlib, sys, openai
log = pathlib.Path("log.txt")
with openai.OpenAI() as client:
    for turn in range(1, 4):
        log.write_text(log.read_text() + f"turn {turn}\\n")
        pathlib.Path(f"made-{turn}.txt").write_text("new")
        client.chat.completions.create(
            model="gpt-4.1-mini", messages=[{"role": "user", "content": log.read_text()}]
        )
log.unlink()
"""


@pytest.fixture
def project(rail: Rail, openai_model: SimulatedModel) -> Path:
    folder = rail.folder / "project"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    (folder / "log.txt").write_text("begun\n")
    (folder / ".env").write_text("KEY=1")
    (folder / "config.toml").write_text(f"key = '{rail.environment['OPENAI_API_KEY']}'")
    rail.folder = folder
    return folder


def snapshots(tape: Path) -> list[WorkspaceSnapshot]:
    with Tape.open(tape) as opened:
        return [event for event in opened.events() if isinstance(event, WorkspaceSnapshot)]


def test_the_files_of_each_step(rail: Rail, project: Path) -> None:
    recorded = rail.record(sys.executable, "agent.py")
    assert recorded.status == 0, recorded.said
    events = snapshots(recorded.tape)
    assert [event.why for event in events] == ["start", "child", "step", "step", "step", "end"]
    assert [event.exchange_id for event in events] == [0, 0, 1, 2, 3, 0]
    assert not any(event.inconsistent for event in events[1:])
    shown = rail.run(*rail.rerail("show", "run.tape", "--files", "2", "log.txt"))
    assert shown.output == b"begun\nturn 1\nturn 2\n"
    change = rail.run(*rail.rerail("show", "run.tape", "--files", "2..3")).text
    assert "+turn 3" in change and "+++ b/made-3.txt" in change and "made-2" not in change
    left = {item.path for event in events for item in event.not_captured}
    assert {".env", "config.toml", "run.tape"} <= left
    assert rail.environment["OPENAI_API_KEY"].encode() not in recorded.tape.read_bytes()


def test_a_step_is_put_back(rail: Rail, project: Path) -> None:
    recorded = rail.record(sys.executable, "agent.py")
    there = rail.run(*rail.rerail("show", "run.tape", "--files", "3", "--extract", "back"))
    assert there.status == 0, there.said
    back = project / "back"
    assert (back / "log.txt").read_text() == "begun\nturn 1\nturn 2\nturn 3\n"
    assert sorted(item.name for item in back.iterdir()) == [
        "agent.py", "log.txt", "made-1.txt", "made-2.txt", "made-3.txt",
    ]  # fmt: skip
    agent = project / "agent.py"
    assert (back / "agent.py").stat().st_mtime_ns == agent.stat().st_mtime_ns
    verified = rail.run(*rail.rerail("verify", str(recorded.tape)))
    assert verified.status == 0, verified.text


def test_a_command_that_is_over_at_once_has_its_snapshots(rail: Rail, project: Path) -> None:
    recorded = rail.record("true")
    assert [event.why for event in snapshots(recorded.tape)] == ["start", "end"]
    assert snapshots(recorded.tape)[0].files == 2


def test_another_folder_further_folders_or_none(rail: Rail, project: Path) -> None:
    for name in ("other", "state"):
        (project / name).mkdir()
        (project / name / "inside").write_text(name)
    options = ["--workspace", "other", "--also", "state"]
    events = snapshots(rail.record("true", options=options).tape)
    assert [(Path(event.folder).name, event.also) for event in events] == [
        ("other", False), ("state", True), ("other", False), ("state", True),
    ]  # fmt: skip
    recorded = rail.record("true", tape="none.tape", options=["--no-workspace"])
    assert snapshots(recorded.tape) == []


def test_the_home_folder_is_not_snapshotted_unless_it_is_named(rail: Rail, project: Path) -> None:
    at_home = {"HOME": str(project), "XDG_DATA_HOME": rail.environment["XDG_DATA_HOME"]}
    recorded = rail.record("true", environment=at_home)
    assert recorded.status == 0
    assert "is not snapshotted: it is the home folder" in recorded.said
    assert snapshots(recorded.tape) == []
    options = ["--workspace", "."]
    recorded = rail.record("true", environment=at_home, tape="named.tape", options=options)
    assert len(snapshots(recorded.tape)) == 2


def test_a_replay_works_on_a_copy(rail: Rail, project: Path) -> None:
    recorded = rail.record(sys.executable, "agent.py")
    (project / "log.txt").write_text("another run's")
    rail.stop_origins()
    before = sorted(path.name for path in project.iterdir())
    replayed = rail.replay(recorded.tape, options=["--keep-workspace", "kept"])
    assert replayed.green, replayed.said
    used = replayed.report["workspace"]
    assert (used["files"], used["differing"], used["laid_on_top"]) == ("present", 0, [])
    assert used["as_recorded"] == ["log.txt"]
    assert (project / "log.txt").read_text() == "another run's"
    assert (project / "kept" / "made-3.txt").exists()
    after = sorted(path.name for path in project.iterdir())
    assert set(after) - set(before) == {"kept", "report.json"}


def test_changed_code_runs_in_the_copy(rail: Rail, project: Path) -> None:
    recorded = rail.record(sys.executable, "agent.py")
    rail.stop_origins()
    (project / "agent.py").write_text("import extra\n" + AGENT)
    (project / "extra.py").write_text("print('one more line of logging')")
    replayed = rail.replay(recorded.tape)
    assert replayed.green, replayed.said
    assert replayed.output == b"one more line of logging\n"
    assert replayed.report["workspace"]["laid_on_top"] == ["agent.py", "extra.py"]
    again = rail.replay(recorded.tape, options=["--workspace", "recorded"])
    assert again.green and again.output == b""


def test_other_code_leaves_other_files(rail: Rail, project: Path) -> None:
    recorded = rail.record(sys.executable, "agent.py")
    rail.stop_origins()
    (project / "agent.py").write_text(AGENT.replace("log.unlink()", "pathlib.Path('x').touch()"))
    replayed = rail.replay(recorded.tape)
    assert replayed.green, replayed.said
    assert replayed.report["workspace"]["differs"] == ["log.txt (only here)", "x (only here)"]


def test_in_place_the_folder_itself_is_written(rail: Rail, project: Path) -> None:
    recorded = rail.record(sys.executable, "agent.py")
    rail.stop_origins()
    for name in ("made-1.txt", "made-2.txt", "made-3.txt"):
        (project / name).unlink()
    (project / "log.txt").write_text("begun\n")
    replayed = rail.replay(recorded.tape, options=["--workspace", "in-place"])
    assert replayed.green, replayed.said
    assert (project / "made-1.txt").exists()
    assert replayed.report["workspace"]["files"] == "in-place"


SAYS_WHERE = """
import os, openai
with openai.OpenAI() as client:
    seen = [os.getcwd(), os.environ.get("PWD"), sorted(os.listdir()), sorted(os.listdir("venv"))]
    client.chat.completions.create(
        model="gpt-4.1-mini", messages=[{"role": "user", "content": str(seen)}]
    )
"""


def test_an_agent_that_says_where_it_is_says_the_same(rail: Rail, project: Path) -> None:
    (project / "agent.py").write_text(SAYS_WHERE)
    (project / "venv").mkdir()
    (project / "venv" / "bin").mkdir()
    in_a_shell = {"PWD": str(project)}
    recorded = rail.record(sys.executable, "agent.py", environment=in_a_shell)
    rail.stop_origins()
    replayed = rail.replay(recorded.tape, environment=in_a_shell)
    if not replayed.report["workspace"]["at_recorded_path"]:
        pytest.skip("this machine allows no mounts, so the copy is at another path")
    assert replayed.green, replayed.said
    assert replayed.report["workspace"]["shown"] == [".env", "config.toml", "venv"]


def test_what_cannot_be_kept_is_said_first(rail: Rail, project: Path) -> None:
    recorded = rail.record("true")
    for options, what in (
        (["--keep-workspace", "."], "is there already"),
        (["--keep-workspace", "no/such/kept"], "in a folder that is not there"),
        (["--keep-workspace", "kept", "--workspace", "in-place"], "makes none"),
    ):
        replayed = rail.replay(recorded.tape, options=options)
        assert (replayed.status, what in replayed.said) == (2, True)


IN_A_SESSION = """
import json, pathlib
from websockets.sync.client import connect
with connect("wss://api.openai.com/v1/responses") as socket:
    for turn in (1, 2):
        pathlib.Path(f"made-{turn}.txt").write_text("new")
        socket.send(json.dumps({
            "type": "response.create", "model": "gpt-5-mini",
            "input": [{"role": "user", "content": f"turn {turn}"}],
        }))
        while json.loads(socket.recv())["type"] != "response.completed":
            pass
"""


def test_each_turn_of_a_session_has_its_files(rail: Rail, project: Path) -> None:
    (project / "agent.py").write_text(IN_A_SESSION)
    recorded = rail.record(sys.executable, "agent.py")
    assert recorded.status == 0, recorded.said
    events = snapshots(recorded.tape)
    assert [event.why for event in events] == ["start", "step", "step", "step", "end"]
    assert [event.added for event in events[1:4]] == [0, 1, 1]
    rail.stop_origins()
    replayed = rail.replay(recorded.tape)
    assert replayed.green, replayed.said


def test_a_recorded_replay_has_the_files_of_its_copy(rail: Rail, project: Path) -> None:
    (project / "node_modules").mkdir()
    recorded = rail.record(sys.executable, "agent.py")
    rail.stop_origins()
    replayed = rail.replay(recorded.tape, options=["-o", "again.tape"])
    assert replayed.green, replayed.said
    first, second = snapshots(recorded.tape), snapshots(project / "again.tape")
    assert [event.why for event in second] == [event.why for event in first]
    assert [event.exchange_id for event in second] == [event.exchange_id for event in first]
    assert not any(event.inconsistent for event in second[1:])
    if replayed.report["workspace"]["at_recorded_path"]:
        assert second[0].folder == str(project)
    change = rail.run(*rail.rerail("show", "again.tape", "--files", "1..3")).text
    assert change == rail.run(*rail.rerail("show", "run.tape", "--files", "1..3")).text
    again = rail.replay(project / "again.tape")
    assert again.green, again.said


WRITES_A_WORD = """
import pathlib, sys, openai
words = pathlib.Path("words.txt")
with openai.OpenAI() as client:
    for turn in range(1, 4):
        reply = client.chat.completions.create(
            model="gpt-4.1-mini", messages=[{"role": "user", "content": words.read_text()}]
        )
        words.write_text(words.read_text() + reply.choices[0].message.content + "\\n")
"""


def test_a_rewound_run_goes_on_with_the_files_of_its_step(rail: Rail, project: Path) -> None:
    (project / "agent.py").write_text(WRITES_A_WORD)
    (project / "words.txt").write_text("begun\n")
    recorded = rail.record(sys.executable, "agent.py")
    written = (project / "words.txt").read_text()
    words = [*rail.names, str(recorded.tape), "--to", "3", "--hint", "Say something else."]
    ran = rail.run(*rail.rerail("rewind", *words))
    assert ran.status == 0, ran.said
    assert "--files end --extract DIR" in ran.said
    assert "files at s3" not in ran.said
    assert (project / "words.txt").read_text() == written
    fork = str(project / "run.s3.tape")
    at_step = rail.run(*rail.rerail("show", fork, "--files", "3", "words.txt")).text
    assert written.startswith(at_step) and at_step.count("\n") >= 3
    left = rail.run(*rail.rerail("show", fork, "--files", "end", "words.txt")).text
    assert left.startswith(at_step) and left != at_step


LOOKS_AROUND = """
import subprocess, openai
LOOK = ["git status --short", "git log --oneline", "ls -laR --time-style=full-iso src", "pwd", "ls"]
with openai.OpenAI() as client:
    seen = [subprocess.run(look, shell=True, stdout=-1, text=True).stdout for look in LOOK]
    client.chat.completions.create(
        model="gpt-4.1-mini", messages=[{"role": "user", "content": "".join(seen)}]
    )
"""


def test_what_programs_say_of_the_folder_is_the_same(
    rail: Rail, project: Path, need: Callable[[str], str]
) -> None:
    git = [need("git"), "-c", "user.name=me", "-c", "user.email=me@example.com"]
    (project / "agent.py").write_text(LOOKS_AROUND)
    (project / "src").mkdir()
    (project / "src" / "run.sh").write_text("#!/bin/sh\n")
    (project / "src" / "run.sh").chmod(0o755)
    (project / "src" / "link").symlink_to("run.sh")
    for words in (["init", "-q"], ["add", "src", "agent.py"], ["commit", "-q", "-m", "begun"]):
        assert rail.run(*git, *words).status == 0
    (project / "src" / "run.sh").write_text("#!/bin/sh\nexit\n")
    recorded = rail.record(sys.executable, "agent.py", tape="../run.tape")
    assert recorded.status == 0, recorded.said
    rail.stop_origins()
    replayed = rail.replay(recorded.tape)
    if not replayed.report["workspace"]["at_recorded_path"]:
        pytest.skip("this machine allows no mounts, so the copy is at another path")
    assert replayed.green, replayed.said


def test_an_agent_that_asks_git_is_not_told_of_its_own_tape(
    rail: Rail, project: Path, need: Callable[[str], str]
) -> None:
    """As Claude Code does: git runs for real in the replay, where that tape is not."""
    (project / "agent.py").write_text(LOOKS_AROUND)
    assert rail.run(need("git"), "init", "-q").status == 0
    assert not (project / "runs").exists()
    recorded = rail.record(
        sys.executable, "agent.py", tape="runs/run.tape", options=["--no-children"]
    )
    assert recorded.status == 0, recorded.said
    rail.stop_origins()
    replayed = rail.replay(recorded.tape)
    if not replayed.report["workspace"]["at_recorded_path"]:
        pytest.skip("this machine allows no mounts, so the copy is at another path")
    assert replayed.green, replayed.said


def test_a_rewound_run_that_comes_with_other_files_says_so(rail: Rail, project: Path) -> None:
    (project / "agent.py").write_text(WRITES_A_WORD)
    (project / "words.txt").write_text("begun\n")
    recorded = rail.record(sys.executable, "agent.py")
    (project / "agent.py").write_text("open('more', 'w')\n" + WRITES_A_WORD)
    ran = rail.run(*rail.rerail("rewind", *rail.names, str(recorded.tape), "--to", "2"))
    assert ran.status == 0, ran.said
    assert "files at s2: 2 otherwise than recorded: agent.py, more" in ran.said


KEEPS_A_STATE = """
import pathlib, sys, openai
state = pathlib.Path(sys.argv[1]) / "session"
with openai.OpenAI() as client:
    for turn in (1, 2):
        client.chat.completions.create(
            model="gpt-4.1-mini", messages=[{"role": "user", "content": state.read_text()}]
        )
        state.write_text(f"after turn {turn}")
"""


def test_a_further_folder_comes_along(rail: Rail, project: Path) -> None:
    state = rail.folder.parent / "state"
    state.mkdir()
    (state / "session").write_text("before")
    (project / "agent.py").write_text(KEEPS_A_STATE)
    command = [sys.executable, "agent.py", str(state)]
    recorded = rail.record(*command, options=["--also", str(state)])
    assert recorded.status == 0, recorded.said
    (state / "session").write_text("of another run")
    rail.stop_origins()
    replayed = rail.replay(recorded.tape)
    if not replayed.report["workspace"]["at_recorded_path"]:
        pytest.skip("this machine allows no mounts, so the copy is at another path")
    assert replayed.green, replayed.said
    assert (state / "session").read_text() == "of another run"
    shown = rail.run(*rail.rerail("show", "run.tape", "--files", "2", f"{state}/session"))
    assert shown.text == "after turn 1"


def test_a_replay_from_a_folder_that_is_gone(rail: Rail, project: Path) -> None:
    (project / "agent.py").write_text(SAYS_WHERE)
    (project / "venv").mkdir()
    assert rail.record(sys.executable, "agent.py", tape="../run.tape").status == 0
    rail.stop_origins()
    rail.folder = project.rename(project.parent / "elsewhere").parent
    replayed = rail.replay(rail.folder / "run.tape")
    if not replayed.report["workspace"]["at_recorded_path"]:
        pytest.skip("this machine allows no mounts, so the copy is at another path")
    assert replayed.green, replayed.said
    assert not project.exists()
