"""An errand: both streams kept, a time limit that is kept, nothing left behind."""

import errno
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from rerail.errors import CommandNotFound, UsageProblem
from rerail.launch import errand
from rerail.launch.errand import Errand, run_errand


def run(script: str, *, seconds: float = 30, alone: bool = False) -> Errand:
    words = [sys.executable, "-c", script]
    environment = dict(os.environ)
    return run_errand(words, cwd=Path("/"), environment=environment, seconds=seconds, alone=alone)


def test_both_streams_and_the_status_are_kept() -> None:
    done = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (done.output, done.errors, done.status) == (b"out\n", b"err\n", 3)
    assert not done.well


def test_it_has_nothing_on_standard_input_and_a_session_of_its_own() -> None:
    done = run("import os, sys; print(repr(sys.stdin.read()), os.getsid(0) == os.getpid())")
    assert done.output == b"'' True\n"
    assert done.well


def test_at_the_time_limit_all_of_it_is_ended() -> None:
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\ntime.sleep(60)"
    )
    done = run(script, seconds=4)
    assert (done.timed_out, done.signal) == (True, 9)
    assert ends(int(done.output))


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone, or dead and not yet reaped by its new parent."""
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        ended = bool(waiting.poll(10_000))
        os.close(descriptor)
        return ended
    return True


def test_what_it_leaves_behind_is_not_waited_for() -> None:
    script = "import subprocess\nprint(subprocess.Popen(['sleep', '60']).pid)"
    child = int(run(script).output)
    os.kill(child, signal.SIGKILL)  # it is there yet
    assert ends(child)


LEAVES = (
    "import os, subprocess, sys, time\n"
    "words = [sys.executable, '-c', 'import time; time.sleep(60)', 'left']\n"
    "child = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)\n"
    "print(child.pid, flush=True)\n"
)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc on this machine")
@pytest.mark.parametrize(
    ("then", "seconds"), [("", 30), ("os.kill(os.getpid(), 9)", 30), ("time.sleep(60)", 4)]
)
def test_what_it_leaves_in_a_session_of_its_own_is_ended_where_it_is_alone(
    then: str, seconds: float
) -> None:
    ours = subprocess.Popen(["sleep", "60"])
    try:
        done = run(LEAVES + then, seconds=seconds, alone=True)
        with pytest.raises(ProcessLookupError):
            os.kill(int(done.output), 0)
        assert [words.split()[-1] for words in done.left] == ["left"]
        assert ours.poll() is None
    finally:
        ours.kill()
        ours.wait()


def test_a_signal_is_told() -> None:
    done = run("import os; os.kill(os.getpid(), 15)")
    assert (done.status, done.signal) == (143, 15)


def test_a_time_limit_of_months_is_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("print('well')", seconds=90 * 86400).output == b"well\n"
    monkeypatch.setattr(errand, "_WAIT_NS", 10_000_000)
    done = run("import time; time.sleep(0.2); print('waited for')", seconds=90 * 86400)
    assert done.output == b"waited for\n"


def test_no_more_than_is_kept_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand, "OUTPUT_SIZE", 10)
    done = run("print('x' * 100_000)")
    assert (len(done.output), done.cut, done.well) == (10, True, False)


def test_a_command_that_is_not_there_is_said() -> None:
    with pytest.raises(CommandNotFound):
        run_errand(["no-such-command"], cwd=Path("/"), environment={"PATH": "/bin"}, seconds=1)


def test_it_ends_with_who_started_it() -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom rerail.launch.errand import run_errand\n"
        "words = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "def started(pid):\n    print(pid, flush=True)\n    os.kill(os.getpid(), 9)\n"
        "run_errand(words, cwd=Path('/'), environment={}, seconds=50, on_start=started)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == -9
    assert ends(int(done.stdout))


def test_its_session_is_told_and_what_goes_wrong_then_ends_it() -> None:
    told: list[int] = []

    def refuse(session: int) -> None:
        told.append(session)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run_errand(["sleep", "60"], cwd=Path("/"), environment=dict(os.environ), seconds=50,
                   on_start=refuse)  # fmt: skip
    assert ends(told[0])


def test_without_a_descriptor_for_its_end_nothing_is_left_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []

    def refuse(pid: int) -> int:
        told.append(pid)
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    with pytest.raises(OSError, match="too many"):
        run("import time; time.sleep(60)")
    with pytest.raises(ProcessLookupError):
        os.kill(told[0], 0)


def test_a_system_that_cannot_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    errand.must_be_possible()
    monkeypatch.delattr(os, "pidfd_open")
    with pytest.raises(UsageProblem, match="cannot tell when"):
        errand.must_be_possible()
