"""A command's end, and what it leaves behind."""

import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.errors import CommandNotFound
from rerail.launch import child as child_module
from rerail.launch.child import Child, Ending, start


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def started(*command: str) -> Child:
    return start(command, cwd=Path.cwd(), environment=dict(os.environ))


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        ("exit 0", Ending(0)),
        ("exit 3", Ending(3)),
        ("exit 143", Ending(143)),
        ("kill -TERM $$", Ending(143, signal.SIGTERM)),
        ("kill -KILL $$", Ending(137, signal.SIGKILL)),
    ],
)
def test_the_end_is_told_as_a_shell_tells_it(script: str, ending: Ending) -> None:
    with started("sh", "-c", script) as child:
        assert child.wait() == ending
        assert child.wait() == ending


def test_the_descriptor_is_readable_once_the_command_has_ended() -> None:
    with started("sleep", "60") as child:
        assert select.select([child.pidfd], [], [], 0)[0] == []
        child.send_signal(signal.SIGTERM)
        assert select.select([child.pidfd], [], [], 10)[0] == [child.pidfd]
        assert child.wait().signal == signal.SIGTERM
        child.send_signal(signal.SIGTERM)


def test_without_process_descriptors_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    with started("sh", "-c", "exit 4") as child:
        assert select.select([child.pidfd], [], [], 10)[0] == [child.pidfd]
        assert child.wait() == Ending(4)


def test_what_a_command_leaves_running_is_told(eventually: Callable[..., None]) -> None:
    sleepers = [["sleep", "61"], ["sleep", "62"]]
    with started("sh", "-c", "(sleep 61 &) ; (sh -c 'sleep 62; true' &)") as child:
        child.wait()
        try:
            eventually(
                lambda: sorted(w for _, w in child.descendants() if w[:1] == ["sleep"]) == sleepers
            )
        finally:
            for pid, _ in child.descendants():
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not child.descendants())


def test_what_ends_because_the_command_did_is_not_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rerail.launch.child.LEAVING_SECONDS", 30)
    helper = "import os; r, w = os.pipe(); os.fork() or (os.close(w), os.read(r, 1))"
    with started(sys.executable, "-c", helper) as child:
        child.wait()
        assert child.left_behind() == []


def test_a_process_of_ours_from_before_is_not_the_commands() -> None:
    with started("sleep", "60") as older, started("true") as younger:
        younger.wait()
        assert younger.descendants() == []
        older.send_signal(signal.SIGKILL)
        assert older.wait().signal == signal.SIGKILL


def test_what_is_on_its_way_out_is_not_said_to_go_on(
    eventually: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(["sh", "-c", "sleep 60 & wait"], cwd=Path.cwd(), environment=os.environ) as child:
        eventually(lambda: any(words[0] == "sleep" for _, words in child.descendants()))
        found = child.descendants()
        monkeypatch.setattr(child_module, "arguments_of", lambda pid: [])
        assert child.descendants() == []
        for pid, _ in found:
            os.kill(pid, signal.SIGKILL)


def test_orphans_that_end_are_put_away(eventually: Callable[..., None]) -> None:
    script = "for i in 1 2 3 4 5; do (true &) ; done; read line"
    ours, theirs = os.pipe()
    saved = os.dup(0)
    os.dup2(ours, 0)
    try:
        with started("sh", "-c", script) as child:
            os.dup2(saved, 0)
            eventually(lambda: set(child_module.own_children()) - child._strangers == {child.pid})
            os.close(theirs)
            assert child.wait().status == 1
    finally:
        os.dup2(saved, 0)
        os.close(saved)
        os.close(ours)


def test_a_command_that_ends_at_once_is_not_taken_for_an_orphan() -> None:
    for _ in range(20):
        with started("true") as child:
            assert child.wait() == Ending(0)


def test_a_command_that_is_not_there_leaves_the_signals_as_they_were() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(CommandNotFound):
        started("no-such-program")
    assert signal.getsignal(signal.SIGTERM) is before


def test_closing_gives_everything_back() -> None:
    before = signal.getsignal(signal.SIGTERM), open_descriptors()
    with started("true") as child:
        child.wait()
    child.close()
    assert (signal.getsignal(signal.SIGTERM), open_descriptors()) == before


def test_a_command_that_is_soon_over_is_told_from_one_that_goes_on() -> None:
    with started("true") as child:
        assert child.ends_within(30)
        assert child.wait() == Ending(0)
    with started("sleep", "30") as child:
        assert not child.ends_within(0.001)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == Ending(137, signal.SIGKILL)


def test_a_command_that_asked_for_something_first_is_not_over_at_once() -> None:
    asked, asks = os.pipe()
    os.write(asks, b"?")
    with started("true") as child:
        select.select([child.pidfd], [], [])
        assert not child.ends_within(30, unless=[asked])
        assert child.ends_within(30)
        child.wait()
    os.close(asked)
    os.close(asks)


def test_starting_loads_no_subprocess_module() -> None:
    program = (
        "import sys; before = set(sys.modules); import rerail.launch.child;"
        "print({'subprocess', 'asyncio', 'ctypes', 'ssl'} & (set(sys.modules) - before))"
    )
    with started(sys.executable, "-c", f"{program.replace('print', 'assert not ')}") as child:
        assert child.wait() == Ending(0)


def test_one_with_streams_of_its_own_has_a_session_of_its_own(tmp_path: Path) -> None:
    with (tmp_path / "said").open("w+b") as said, Path(os.devnull).open("rb") as nothing:
        streams = (nothing.fileno(), said.fileno(), said.fileno())
        words = ["sh", "-c", "cat; ps -o sid= -p $$ | tr -d ' '"]
        with start(words, cwd=Path.cwd(), environment=dict(os.environ), streams=streams) as child:
            assert child.wait() == Ending(0)
        said.seek(0)
        assert int(said.read()) == child.pid != os.getsid(0)
