"""The end of the process: quick, and nothing is lost by it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = "import atexit, sys, threading\nfrom rerail.cli.leaving import leave\n"
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def run(program: str, **options: object) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        capture_output="stdout" not in options,
        env=BUFFERED,
        timeout=60,
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("status", [0, 3, 143])
def test_all_output_is_written_and_the_status_is_kept(status: int) -> None:
    done = run(
        f"sys.stdout.write('x' * 3_000_000); sys.stderr.write('no line end')\nleave({status})"
    )
    assert (done.returncode, len(done.stdout), done.stderr) == (status, 3_000_000, b"no line end")


def test_what_was_registered_for_the_end_is_done() -> None:
    done = run("atexit.register(print, 'first, second')\natexit.register(print, 'done')\nleave(0)")
    assert done.stdout == b"done\nfirst, second\n"


def test_a_thread_that_is_no_daemon_is_waited_for() -> None:
    done = run(
        "go = threading.Event()\n"
        "threading.Thread(target=lambda: (go.wait(), print('to the end'))).start()\n"
        "atexit.register(print, 'after it')\n"
        "threading.Timer(0.05, go.set).start()\n"
        "leave(7)"
    )
    assert (done.returncode, done.stdout) == (7, b"to the end\nafter it\n")


def test_a_reader_that_went_away_is_not_complained_about() -> None:
    program = PRELUDE + "sys.stdin.read(); print('unread'); leave(0)"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=BUFFERED,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full: /dev/full")
def test_output_that_cannot_be_written_is_said() -> None:
    with Path("/dev/full").open("wb") as full:
        done = run("print('lost'); leave(0)", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 120
    assert b"No space left" in done.stderr


def test_the_command_line_ends_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rerail.cli", "record", "--help"], capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.rstrip().endswith(b"Show this message and exit.")
    wrong = subprocess.run(
        [sys.executable, "-m", "rerail.cli", "nothing"], capture_output=True, timeout=60
    )
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr.startswith(b"rerail: there is no verb `nothing`")
