"""A program that stays: told and heard at once, in time, and gone when it is stopped."""

import os
import select
import sys
from pathlib import Path

import pytest

from rerail.clock import monotonic_ns
from rerail.errors import RerailError
from rerail.launch.kept import KeptProcess, TooSlow


def started(code: str) -> KeptProcess:
    return KeptProcess([sys.executable, "-c", code], cwd=Path.cwd(), environment={})


def within(seconds: float) -> int:
    return monotonic_ns() + int(seconds * 1e9)


def heard(process: KeptProcess, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = process.receive(within(20))
        if not piece:
            break
        found += piece
    return found


ECHO = (
    "import sys\nfor line in sys.stdin.buffer:\n  sys.stdout.buffer.write(line); sys.stdout.flush()"
)


def test_what_is_sent_is_answered() -> None:
    process = started(ECHO)
    process.send(b"one\n")
    assert heard(process, 4) == b"one\n"
    process.send(b"two\n")
    assert heard(process, 4) == b"two\n"
    process.stop()


def test_much_is_written_while_much_is_read() -> None:
    """Both pipes would be full: neither side may wait for the other."""
    process = started(ECHO)
    content = (b"x" * 999 + b"\n") * 3000
    process.send(content)
    assert heard(process, len(content)) == content
    process.stop()


def test_a_program_that_says_nothing_is_not_waited_for_for_ever() -> None:
    process = started("import time; time.sleep(60)")
    with pytest.raises(TooSlow):
        process.receive(within(0.05))
    process.stop()


def test_the_end_of_a_program_is_heard_and_so_are_its_last_words() -> None:
    process = started("import sys; sys.stderr.write('x' * 9000 + ' out of memory'); print('bye')")
    assert heard(process, 99) == b"bye\n"
    assert process.ended
    assert process.receive(within(5)) == b""
    process.stop()
    assert len(process.errors) <= 4096


def test_a_program_that_does_not_read_is_still_heard() -> None:
    process = started("import os; os.close(0); print('deaf')")
    process.send(b"x" * 200_000)
    assert heard(process, 5) == b"deaf\n"
    process.stop()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="there is no pidfd here")
def test_one_that_does_not_leave_is_killed_with_what_it_started() -> None:
    child = "import subprocess, sys, time, signal\n"
    child += "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    child += "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    child += "print(p.pid, flush=True); time.sleep(60)"
    process = started(child)
    grandchild = os.pidfd_open(int(heard(process, 2)))
    process.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert select.select([grandchild], [], [], 20)[0]
    os.close(grandchild)


def test_a_program_that_is_not_there_is_an_error_for_a_person() -> None:
    with pytest.raises(RerailError):
        KeptProcess(["/nowhere/tsc"], cwd=Path.cwd(), environment={})
