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


def test_streams_that_were_closed_stay_so_for_the_command(tmp_path: Path) -> None:
    """And none of our own files has the number of one: the command would write into it."""
    look = "for n in 0 1 2; do test -e /proc/$$/fd/$n && echo $n >>seen; done; exit 5"
    words = [sys.executable, "-m", "rerail.cli", "record", "-o", "run.tape", "--", "sh", "-c", look]
    closed = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *words]
    assert subprocess.run(closed, cwd=tmp_path, timeout=60).returncode == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.tape"]
    shown = [*words[:3], "show", "run.tape"]
    closed = ["sh", "-c", '"$@" >&-', "sh", *shown]
    done = subprocess.run(closed, cwd=tmp_path, timeout=60, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_command_line_ends_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rerail.cli", "record", "--help"], capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"Usage: rerail record [OPTIONS]") and done.stdout.endswith(b"\n")
    wrong = subprocess.run(
        [sys.executable, "-m", "rerail.cli", "nothing"], capture_output=True, timeout=60
    )
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr.startswith(b"rerail: there is no verb `nothing`")
