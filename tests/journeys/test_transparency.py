"""A recording is not noticed: exit statuses, signals, standard streams, neighbours."""

import os
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.tape.records import CaptureMissing, ProcessEnded, RunEnded
from rerail.testing.origin import Origin
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

HOST = "api.example.com"
Start = Callable[..., Origin]


@pytest.mark.parametrize("status", [0, 3, 125, 255])
def test_the_exit_status_is_the_commands(rail: Rail, status: int) -> None:
    recorded = rail.record("sh", "-c", f"exit {status}")
    assert recorded.status == status
    ends = [event for event in recorded.events() if isinstance(event, RunEnded | ProcessEnded)]
    assert [event.status for event in ends] == [status, status]


def test_a_command_that_a_signal_ended_has_the_status_of_a_shell(rail: Rail) -> None:
    recorded = rail.record("sh", "-c", "kill -KILL $$")
    assert recorded.status == 137
    assert [event.signal for event in recorded.events() if isinstance(event, RunEnded)] == [9]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_the_recorder_reaches_the_command(rail: Rail, number: int) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("this signal is ignored here, as under nohup, and so by what is started")
    running = rail.start_recording("sh", "-c", "echo ready; exec sleep 60")
    running.line()
    running.process.send_signal(number)
    ended = running.end()
    assert ended.status == 128 + number
    assert "kept run.tape" in ended.said


def test_a_command_that_catches_the_signal_ends_as_it_likes(rail: Rail) -> None:
    # KILL: a TERM could reach the child of the shell before it has become `sleep`, and be lost.
    script = "trap 'echo caught; kill -KILL $!; exit 5' TERM; sleep 60 & echo ready; wait"
    running = rail.start_recording("sh", "-c", script)
    running.line()
    running.process.terminate()
    assert running.line() == b"caught"
    assert running.end().status == 5


def test_what_cannot_be_started_has_the_statuses_of_a_shell(rail: Rail) -> None:
    assert rail.record("no-such-program").status == 127
    (rail.folder / "text").write_text("no program\n")
    assert rail.record("./text", tape="other.tape").status == 126
    (rail.folder / "mine.tape").write_text("something of the user's\n")
    refused = rail.record("true", tape="mine.tape")
    assert refused.status == 125
    assert refused.said.count("\n") == 2 and "hint: " in refused.said
    assert (rail.folder / "mine.tape").read_text() == "something of the user's\n"


def test_standard_input_and_a_lot_of_output_pass_untouched(rail: Rail) -> None:
    sent = os.urandom(1 << 20) * 5
    recorded = rail.record("sh", "-c", "cat; echo to standard error >&2", stdin=sent)
    assert recorded.output == sent
    assert recorded.said.startswith("to standard error\n")


def test_a_replay_passes_standard_input_on_too(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground(HOST))
    command = ("sh", "-c", f"curl -sS https://{HOST}/page; cat")
    recorded = rail.record(*command, stdin=b"from a pipe")
    rail.stop_origins()
    replayed = rail.replay(recorded.tape, stdin=b"from another")
    assert replayed.green
    assert replayed.output == recorded.output.replace(b"from a pipe", b"from another")


def test_a_process_that_is_left_behind_is_noted(rail: Rail) -> None:
    recorded = rail.record("sh", "-c", "sleep 3 & exit 0")
    (gap,) = [event for event in recorded.events() if isinstance(event, CaptureMissing)]
    assert "outlived" in gap.what and "sleep 3" in gap.detail


def test_words_and_variables_that_are_no_text_come_again(rail: Rail) -> None:
    program = "import os, sys; print(os.fsencode(sys.argv[1]), os.environb[b'ODD'])"
    words = [sys.executable, "-c", program, os.fsdecode(b"caf\xe9 \xff")]
    odd = {"ODD": os.fsdecode(b"\x80 odd")}
    recorded = rail.record(*words, options=["-e", "ODD"], environment=odd)
    assert recorded.text == "b'caf\\xe9 \\xff' b'\\x80 odd'\n"
    assert rail.replay(recorded.tape).text == recorded.text


def test_the_tape_is_its_owners_alone(rail: Rail) -> None:
    recorded = rail.record("true")
    assert stat.S_IMODE(recorded.tape.stat().st_mode) == 0o600
    assert sorted(path.name for path in rail.folder.iterdir()) == ["run.tape"]


def test_two_recordings_at_once(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground(HOST))
    command = rail.python("urllib_agent.py", f"https://{HOST}")
    started = [rail.start_recording(*command, tape=f"{number}.tape") for number in range(2)]
    ended = [running.end() for running in started]
    assert [ran.status for ran in ended] == [0, 0]
    rail.stop_origins()
    for number, ran in enumerate(ended):
        replayed = rail.replay(rail.folder / f"{number}.tape")
        assert replayed.green and replayed.output == ran.output


def test_a_recording_inside_a_recording(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground(HOST))
    agent = rail.python("urllib_agent.py", f"https://{HOST}")
    inner = rail.rerail("record", "--force", "-o", "inner.tape", "--", *agent)
    outer = rail.there_and_back(*inner)
    assert rail.replay(rail.folder / "inner.tape").output == outer.output


def test_tools_that_look_at_their_environment_find_their_own(rail: Rail) -> None:
    """What rerail adds is for clients; what was there stays."""
    environment = {"AGENT_MODE": "night", "PYTHONPATH": str(rail.folder), "NO_PROXY": "*"}
    script = "import os, sys; print(os.environ['AGENT_MODE'], sys.path)"
    recorded = rail.record(sys.executable, "-c", script, environment=environment)
    assert recorded.text.startswith("night ")
    assert str(Path(rail.folder)) in recorded.text
