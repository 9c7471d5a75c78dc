"""Pythons and Nodes that cannot load the probe, or did not say hello."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from rerail.capture import unheard
from rerail.capture.unheard import Unheard
from rerail.probe import paths

WAITING = "import sys; print('ready', flush=True); sys.stdin.read()"
NODE_WAITING = "console.log('ready'); process.stdin.resume();"
Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(*options, **variables)` gives the pid of a Python (or `node`) that runs and waits."""
    with ExitStack() as stack:

        def started(*options: str, node: str = "", **variables: str) -> int:
            program = ["-e", NODE_WAITING] if node else ["-c", WAITING]
            process = subprocess.Popen(
                [node or sys.executable, *options, *program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=variables,
            )
            stack.enter_context(process)
            assert process.stdin is not None
            assert process.stdout is not None
            stack.callback(process.stdin.close)
            process.stdout.readline()
            return process.pid

        yield started


class Told:
    """What is missing, by pid."""

    def __init__(self) -> None:
        self.details: list[str] = []
        self.unheard = Unheard(lambda what, detail, process: self.details.append(detail))

    def of(self, pid: int, heard: tuple[int, ...] = ()) -> list[str]:
        self.unheard.look(heard)
        return [detail for detail in self.details if detail.startswith(f"pid {pid} ")]


def probed(**more: str) -> dict[str, str]:
    return {"PYTHONPATH": str(paths().python), "RERAIL_RUN": "/nowhere", **more}


@pytest.mark.parametrize(
    ("options", "letter"), [(["-I"], "I"), (["-S"], "S"), (["-W", "ignore", "-uE"], "E")]
)
def test_an_option_that_keeps_the_probe_out_is_named(
    start: Start, options: list[str], letter: str
) -> None:
    (detail,) = Told().of(start(*options, **probed()))
    assert detail.endswith(f": it was started with -{letter}")


def test_an_option_of_the_program_itself_is_not_one(start: Start) -> None:
    assert Told().of(start("-W", "ignore", **probed())) == []


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({}, "its environment was replaced"),
        (probed(PYTHONPATH="src"), "its PYTHONPATH was replaced"),
    ],
)
def test_an_environment_that_keeps_it_out_is_named(
    start: Start, variables: dict[str, str], why: str
) -> None:
    (detail,) = Told().of(start(**variables))
    assert detail.endswith(why)


def test_one_that_said_hello_is_not_looked_at(start: Start) -> None:
    pid = start("-I", **probed())
    assert Told().of(pid, heard=(pid,)) == []


def test_each_is_told_of_once(start: Start) -> None:
    told, pid = Told(), start("-I", **probed())
    assert told.of(pid) == told.of(pid)


def test_one_with_nothing_in_its_way_has_a_moment(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0
    monkeypatch.setattr(unheard, "monotonic_ns", lambda: now)
    told, pid = Told(), start(**probed())
    assert told.of(pid) == []
    now = unheard.PATIENCE_NS
    (detail,) = told.of(pid)
    assert detail.endswith("it said no hello")


def test_other_programs_are_none_of_these(start: Start) -> None:
    with subprocess.Popen(["sleep", "60"], env={}) as sleeping:
        told = Told().of(sleeping.pid)
        sleeping.kill()
    assert told == []
    assert os.getpid() not in Told().unheard._waiting


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node is not installed")
    return found


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({}, "its environment was replaced"),
        ({"RERAIL_RUN": "/nowhere"}, "its NODE_OPTIONS was replaced"),
        (
            {"RERAIL_RUN": "/nowhere", "NODE_OPTIONS": "--no-warnings"},
            "its NODE_OPTIONS was replaced",
        ),
    ],
)
def test_a_node_without_the_preload_is_named(
    start: Start, node: str, variables: dict[str, str], why: str
) -> None:
    (detail,) = Told().of(start(node=node, **variables))
    assert detail.endswith(why)


def test_a_node_that_may_not_read_the_probe_is_named(start: Start, node: str) -> None:
    allowed = ["--experimental-permission", "--allow-fs-read=*"]
    (detail,) = Told().of(start(*allowed, node=node, **probed()))
    assert detail.endswith("it was started with --experimental-permission")


def test_a_node_with_the_preload_has_a_moment(start: Start, node: str) -> None:
    options = f"--no-warnings --require {paths().node_preload}"
    assert Told().of(start(node=node, RERAIL_RUN="/nowhere", NODE_OPTIONS=options)) == []
