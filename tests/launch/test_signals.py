"""Signals sent to the recorder alone reach the command; without a terminal all of them do."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rerail.launch.signals import Forwarding

Words = Callable[..., list[str]]

REPORTS = """
    import signal, sys
    def told(number, _):
        print("got", signal.Signals(number).name, flush=True)
    for name in ("TERM", "HUP", "USR1", "USR2", "QUIT", "INT", "WINCH", "CONT"):
        signal.signal(getattr(signal, "SIG" + name), told)
    print("ready", flush=True)
    while True:
        signal.pause()
"""


@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGINT", "SIGWINCH", "SIGCONT"]
)
def test_a_signal_to_the_recorder_alone_is_passed_on(
    supervise: Callable[..., Any], say: Words, name: str
) -> None:
    if signal.getsignal(getattr(signal, name)) == signal.SIG_IGN:
        pytest.skip("this signal is ignored here, as under nohup, and so by what is started")
    run = supervise(*say(REPORTS))
    assert run.line() == "ready"
    os.kill(run.process.pid, getattr(signal, name))
    assert run.line() == f"got {name}"


def test_a_command_ended_by_a_forwarded_signal_gives_128_and_its_number(
    supervise: Callable[..., Any],
) -> None:
    run = supervise("sh", "-c", "echo ready; exec sleep 60")
    assert run.line() == "ready"
    os.kill(run.process.pid, signal.SIGTERM)
    assert run.line() == "recorder: over 143"
    assert run.process.wait(10) == 143


def test_a_signal_that_was_ignored_stays_ignored_for_the_command(
    under_supervision: Words, say: Words
) -> None:
    """`nohup rerail record …` must do what it does without rerail."""
    command = under_supervision(*say("import signal; print(signal.getsignal(signal.SIGHUP))"))
    script = "trap '' HUP; exec \"$@\""
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("1\n") or "SIG_IGN" in done.stdout


def test_the_command_does_not_inherit_what_python_ignores(
    under_supervision: Words,
) -> None:
    shown = under_supervision("sh", "-c", "grep SigIgn /proc/self/status")
    done = subprocess.run(shown, capture_output=True, text=True, check=True)
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


def test_killing_the_recorder_leaves_the_command_running(
    supervise: Callable[..., Any], say: Words, eventually: Callable[..., None]
) -> None:
    program = """
        import os, time
        parent = os.getppid()
        print("ready", flush=True)
        while os.getppid() == parent:
            time.sleep(0.005)
        print("orphaned and well", flush=True)
    """
    run = supervise(*say(program))
    assert run.line() == "ready"
    run.process.kill()
    assert run.line() == "orphaned and well"


def test_signals_that_come_before_the_command_are_kept_for_it() -> None:
    forwarding = Forwarding(lambda: None)
    sleeper = subprocess.Popen(["sleep", "60"])
    forwarding.send(signal.SIGTERM)
    forwarding.attach(sleeper.pid)
    assert sleeper.wait(10) == -signal.SIGTERM


def test_a_command_that_is_over_is_not_signalled_again() -> None:
    """Its number may be somebody else's by now: here it is our own."""
    forwarding = Forwarding(lambda: None)
    forwarding.attach(os.getpid())
    forwarding.detach()
    forwarding.send(signal.SIGKILL)


def test_keys_of_a_terminal_reach_all_of_a_command_apart() -> None:
    """It has a session of its own, where no terminal is: Ctrl-C goes to its group from here."""
    program = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print('ready', flush=True)\n"
        "sys.exit(-child.wait())\n"
    )
    words = [sys.executable, "-c", program]
    forwarding = Forwarding(lambda: None)
    forwarding.apart = True
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == b"ready\n"
        forwarding.attach(command.pid)
        forwarding.install()
        try:
            os.kill(os.getpid(), signal.SIGINT)
            assert command.wait(10) == signal.SIGINT
        finally:
            forwarding.release()
            command.kill()


def test_the_handlers_of_before_come_back() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    forwarding = Forwarding(lambda: None)
    forwarding.install()
    assert signal.getsignal(signal.SIGTERM) != before[signal.SIGTERM]
    forwarding.release()
    assert {number: signal.getsignal(number) for number in before} == before


def test_outside_the_main_thread_no_handler_is_touched() -> None:
    program = """
        import signal, threading
        from rerail.launch.signals import Forwarding
        def run():
            forwarding = Forwarding(lambda: None)
            forwarding.install()
            forwarding.release()
            print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    """
    import textwrap

    words = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
