"""Prompts that hold times, ids, random numbers and temporary names come again to the word."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.tape.records import CaptureMissing, ProbeLog
from tests.journeys.rail import AGENTS, Rail, Recorded, Replayed
from tests.node import node_or_skip

pytestmark = pytest.mark.journey

CALLS = 30
PLACE = "# more is said here"
LOGGING = "print(datetime.now(), uuid.uuid4(), random.random(), file=sys.stderr)"
SHIFTED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static int (*real)(clockid_t, struct timespec *);
int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec -= 90000;
    return failed;
}
"""


@pytest.fixture
def agent(rail: Rail) -> Path:
    """The agent in a workspace of its own, where it can be changed."""
    workspace = rail.folder / "workspace"
    workspace.mkdir()
    (workspace / "notes.txt").touch()
    return Path(shutil.copy(AGENTS / "dated_agent.py", workspace))


def recorded(rail: Rail, agent: Path, way: str, **more: object) -> Recorded:
    done = rail.record(sys.executable, str(agent), way, **more)
    assert done.status == 0, done.said
    rail.stop_origins()
    return done


def same(rail: Rail, tape: Path, output: bytes) -> Replayed:
    """Replay it: every prompt matches exactly, and what is put out is the same, in any order."""
    replayed = rail.replay(tape)
    assert replayed.green, replayed.said
    assert replayed.report["counts"]["exact"] == CALLS
    assert sorted(replayed.output.split(b"\n")) == sorted(output.split(b"\n"))
    assert rail.reached == 0
    return replayed


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize(
    "way", ["alone", "fork", "spawn", "forkserver", "threads", "tasks", "pool"]
)
def test_thirty_prompts_come_again(rail: Rail, agent: Path, way: str) -> None:
    run = recorded(rail, agent, way)
    assert len(set(run.output.split(b"\n"))) > 3 * CALLS
    for _ in range(2):
        same(rail, run.tape, run.output)


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize("way", ["alone", "fork", "threads"])
def test_they_come_again_with_more_logging(rail: Rail, agent: Path, way: str) -> None:
    run = recorded(rail, agent, way)
    text = agent.read_text()
    assert PLACE in text
    agent.write_text(text.replace(PLACE, LOGGING))
    replayed = same(rail, run.tape, run.output)
    assert len([line for line in replayed.said.split("\n") if line.startswith("20")]) == CALLS


@pytest.mark.usefixtures("openai_model")
def test_they_come_again_on_another_day(
    rail: Rail, agent: Path, need: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Recorded under a clock that is 25 hours slow, replayed under the true one."""
    folder = tmp_path_factory.mktemp("clock")
    (folder / "shifted.c").write_text(SHIFTED)
    words = [need("cc"), "-shared", "-fPIC", "-o", "shifted.so", "shifted.c", "-ldl"]
    subprocess.run(words, cwd=folder, check=True)
    shifted = {"LD_PRELOAD": str(folder / "shifted.so")}
    run = recorded(rail, agent, "alone", environment=shifted)
    replayed = same(rail, run.tape, run.output)
    assert replayed.report["rules"] == []


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize(
    ("runner", "stdin"),
    [
        (["-m", "pdb"], b"import time, uuid\np time.time(), uuid.uuid4()\nc\nq\n"),
        (["-m", "pdb", "-c", "c"], b"q\n"),
        (["-m", "cProfile", "-o", "profile.out"], b""),
        (["-m", "trace", "--count", "--coverdir", "counts"], b""),
    ],
    ids=["pdb", "pdb that goes on", "cProfile", "trace"],
)
def test_they_come_again_under_a_debugger(
    rail: Rail, agent: Path, runner: list[str], stdin: bytes
) -> None:
    run = recorded(rail, agent, "alone")
    command = [sys.executable, *runner, str(agent), "alone"]
    replayed = rail.replay(run.tape, *command, stdin=stdin)
    assert replayed.green, replayed.said + replayed.text
    assert replayed.report["counts"]["exact"] == CALLS


@pytest.mark.usefixtures("openai_model")
def test_without_the_clock_the_first_prompt_differs(rail: Rail, agent: Path) -> None:
    """What the tests above show is the probe's doing."""
    run = recorded(rail, agent, "alone", options=["--no-clock"])
    assert not rail.replay(run.tape).green


@pytest.mark.usefixtures("openai_model")
def test_a_python_that_cannot_load_the_probe_is_named(rail: Rail, agent: Path) -> None:
    run = rail.record(sys.executable, "-I", str(agent))
    missing = [event for event in run.events() if isinstance(event, CaptureMissing)]
    (detail,) = [event.detail for event in missing if event.what.startswith("clock and random")]
    assert detail.endswith("dated_agent.py): it was started with -I")


@pytest.mark.usefixtures("openai_model")
def test_a_replay_that_is_recorded_can_be_replayed(rail: Rail, agent: Path) -> None:
    run = recorded(rail, agent, "alone")
    again = rail.replay(run.tape, options=["-o", "again.tape"])
    assert again.green, again.said
    same(rail, rail.folder / "again.tape", run.output)


@pytest.mark.usefixtures("openai_model")
def test_what_was_handed_out_is_kept_though_the_agent_was_killed(rail: Rail, agent: Path) -> None:
    agent.write_text(agent.read_text().replace(PLACE, "turn == 3 and os.kill(os.getpid(), 9)"))
    run = rail.record(sys.executable, str(agent))
    assert run.status == 128 + 9
    logs = [run.blob(event.content) for event in run.events() if isinstance(event, ProbeLog)]
    told = b"".join(logs).split(b"\n")
    assert len([line for line in told if line.startswith(b"t\t3\t")]) == 4
    assert len([line for line in told if line.startswith(b"r\t3\t")]) == 1


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize("language", ["python", "node"])
def test_what_a_recording_left_in_temporary_folders_is_no_obstacle(
    rail: Rail, tmp_path_factory: pytest.TempPathFactory, language: str
) -> None:
    """It is still there for everybody else; the replay's own copy of it gives way."""
    agent = rail.python("leaving_agent.py")
    if language == "node":
        agent = [node_or_skip(20), str(AGENTS / "leaving_agent.mjs")]
    place = tmp_path_factory.mktemp("temporary")
    run = rail.record(*agent, environment={"TMPDIR": str(place)})
    assert run.status == 0, run.said
    rail.stop_origins()
    left = sorted(place.rglob("*"))
    assert [path.name for path in left if path.name == "note.txt"]
    for _ in range(2):
        replayed = rail.replay(run.tape, environment={"TMPDIR": str(place)})
        assert replayed.green, replayed.said
        assert replayed.report["counts"]["exact"] == 1
        assert not [note for note in replayed.report["notes"] if "another name" in note]
    assert sorted(path for path in place.rglob("*") if "left-" in str(path)) == left


@pytest.mark.usefixtures("openai_model")
def test_what_a_child_puts_out_with_the_command_is_said_to_be_missing(
    rail: Rail, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rail.environment["TMPDIR"] = str(tmp_path_factory.mktemp("temporary"))
    run = rail.record(*rail.python("leaving_agent.py"))
    assert b"said with the command" in run.output
    rail.stop_origins()
    replayed = rail.replay(run.tape)
    assert replayed.green, replayed.said
    assert b"said with the command" not in replayed.output
    unsaid = "not on the tape, and not said again: what p2 sleep 30 and 1 more put out with"
    assert unsaid in replayed.said
    assert [child["unsaid"] for child in replayed.report["children"]] == [["stdout", "stderr"]] * 2
