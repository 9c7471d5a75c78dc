"""Node agents whose prompts hold times, ids, random numbers and names come again to the word."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import SimulatedModel
from rerail.testing.model.conversation import Asked, Reply
from tests.journeys.rail import AGENTS, Rail, Recorded, Replayed
from tests.journeys.test_same_to_the_word import SHIFTED
from tests.node import MAJORS, node_or_skip

pytestmark = pytest.mark.journey

CALLS = 30
PLACE = "// more is said here"
SHIFTED_FOR_NODE = f"""{SHIFTED}
#include <sys/time.h>
int gettimeofday(struct timeval *now, void *zone) {{
    static int (*of_day)(struct timeval *, void *);
    if (!of_day) of_day = dlsym(RTLD_NEXT, "gettimeofday");
    int failed = of_day(now, zone);
    if (!failed) now->tv_sec -= 90000;
    return failed;
}}
"""
LOGGING = "console.error(new Date()); console.error(Date.now(), Math.random(), randomUUID());"


@pytest.fixture(params=MAJORS)
def node(request: pytest.FixtureRequest) -> str:
    return node_or_skip(request.param)


def workspace_with(rail: Rail, agent: str) -> Path:
    """The agent in a workspace of its own, where it can be changed."""
    workspace = rail.folder / "workspace"
    workspace.mkdir()
    (workspace / "notes.txt").touch()
    return Path(shutil.copy(AGENTS / agent, workspace))


def recorded(rail: Rail, *command: str, **more: object) -> Recorded:
    done = rail.record(*command, **more)
    assert done.status == 0, done.said
    rail.stop_origins()
    return done


def same(rail: Rail, run: Recorded) -> Replayed:
    """Replay it: every prompt matches exactly, and what is put out is the same, in any order."""
    replayed = rail.replay(run.tape)
    assert replayed.green, replayed.said
    assert replayed.report["counts"]["exact"] == CALLS
    assert sorted(replayed.output.split(b"\n")) == sorted(run.output.split(b"\n"))
    assert rail.reached == 0
    return replayed


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize(
    ("agent", "way"),
    [
        ("dated_agent.mjs", "alone"),
        ("dated_agent.cjs", "alone"),
        ("dated_agent.cjs", "workers"),
        ("dated_agent.cjs", "children"),
    ],
)
def test_thirty_prompts_come_again(rail: Rail, node: str, agent: str, way: str) -> None:
    script = workspace_with(rail, agent)
    run = recorded(rail, node, str(script), way)
    assert len(set(run.output.split(b"\n"))) > 3 * CALLS
    for _ in range(2):
        same(rail, run)
    # What is added to every turn disturbs nothing that was there.
    text = script.read_text()
    assert PLACE in text
    script.write_text(text.replace(PLACE, LOGGING))
    replayed = same(rail, run)
    assert len([line for line in replayed.said.split("\n") if line.startswith("20")]) == CALLS


@pytest.mark.usefixtures("openai_model")
@pytest.mark.parametrize("way", ["children", "workers"])
def test_each_process_of_a_run_is_known_by_its_number(rail: Rail, node: str, way: str) -> None:
    script = workspace_with(rail, "dated_agent.cjs")
    run = recorded(rail, node, str(script), way)
    assert {exchange.request.process_id for exchange in run.exchanges()} == {2, 3, 4}


@pytest.mark.usefixtures("openai_model")
def test_they_come_again_on_another_day(
    rail: Rail, node: str, need: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Recorded under a clock that is 25 hours slow, replayed under the true one."""
    folder = tmp_path_factory.mktemp("clock")
    (folder / "shifted.c").write_text(SHIFTED_FOR_NODE)
    words = [need("cc"), "-shared", "-fPIC", "-o", "shifted.so", "shifted.c", "-ldl"]
    subprocess.run(words, cwd=folder, check=True)
    shifted = {"LD_PRELOAD": str(folder / "shifted.so")}
    script = workspace_with(rail, "dated_agent.mjs")
    run = recorded(rail, node, str(script), environment=shifted)
    assert f"at {datetime.now(UTC).date()}" not in run.text
    same(rail, run)


@pytest.mark.usefixtures("openai_model")
def test_without_the_clock_the_first_prompt_differs(rail: Rail, node: str) -> None:
    """What the tests above show is the probe's doing."""
    script = workspace_with(rail, "dated_agent.mjs")
    run = recorded(rail, node, str(script), options=["--no-clock"])
    assert not rail.replay(run.tape).green


class OneAfterTheOther:
    """Answers a round of calls side by side in an order of its own.

    Each has to wait until the one before it has made its next call, so their order is known.
    """

    ORDER = ("three", "two", "four", "one")

    def __init__(self) -> None:
        self._asked: set[tuple[str, int]] = set()
        self._changed = threading.Condition()

    def reply(self, asked: Asked) -> Reply:
        name, number, *_ = asked.messages[-1].text.replace(":", "").split()
        turn = int(number)
        with self._changed:
            self._asked.add((name, turn))
            self._changed.notify_all()
            at = self.ORDER.index(name)
            before = (self.ORDER[at - 1], turn + 1 if at and turn < 4 else turn)
            assert self._changed.wait_for(lambda: before in self._asked, 30)
        return Reply(f"{name} {number} is heard")


@pytest.mark.parametrize("language", ["python", *(f"node {major}" for major in MAJORS)])
def test_calls_side_by_side_come_back_in_the_recorded_order(
    rail: Rail,
    language: str,
    start_model: Callable[..., SimulatedModel],
    authority: CertificateAuthority,
) -> None:
    """In a replay every reply could come at once, and what follows from them in another order."""
    model = start_model(OneAfterTheOther(), tls=authority.leaf("api.openai.com"))
    rail.resolve("api.openai.com", model.origin)
    if language == "python":
        agent = [sys.executable, str(workspace_with(rail, "side_by_side_agent.py"))]
    else:
        node = node_or_skip(int(language.split()[1]))
        agent = [node, str(workspace_with(rail, "side_by_side_agent.mjs"))]
    run = recorded(rail, *agent)
    for _ in range(3):
        replayed = rail.replay(run.tape)
        assert replayed.green, replayed.said
        assert replayed.report["counts"]["exact"] == 20
        assert replayed.output == run.output
        assert replayed.report["notes"] == []
