"""Who is writing a tape."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rerail.errors import TapeBusy
from rerail.tape.lock import WriterLock, being_written, written_here


def test_a_file_that_nobody_writes(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert not being_written(tmp_path / "x")
    assert not written_here(tmp_path / "x")


def test_a_file_that_this_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    lock = WriterLock.take(path, os.open(path, os.O_RDWR | os.O_CREAT))
    assert being_written(path)
    assert written_here(path)
    with pytest.raises(TapeBusy, match="another process"):
        WriterLock.take(path, os.open(path, os.O_RDWR))
    lock.release()
    assert not being_written(path)


def test_a_lock_knows_when_its_file_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x"
    lock = WriterLock.take(path, os.open(path, os.O_RDWR | os.O_CREAT))
    assert lock.holds(path)
    path.unlink()
    assert not lock.holds(path)
    path.touch()
    assert not lock.holds(path)
    lock.release()


def test_a_file_that_another_process_writes_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.touch()
    code = (
        "import os, sys, time; from pathlib import Path; from rerail.tape.lock import WriterLock\n"
        "path = Path(sys.argv[1])\n"
        "lock = WriterLock.take(path, os.open(path, os.O_RDWR))\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "locked\n"
        assert being_written(path)
        assert not written_here(path)
        writer.kill()
        writer.wait()
    assert not being_written(path)
