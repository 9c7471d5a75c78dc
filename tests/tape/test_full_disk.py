"""A disk that is full: a clear error, and a readable tape."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerail.errors import TapeWriteFailed
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.reader import Tape
from rerail.tape.records import CaptureMissing, RunStarted
from rerail.tape.repair import repair
from rerail.tape.seal import verify
from rerail.tape.writer import TapeWriter

START = RunStarted(at=0, wall=1, run_id="r", task_id="t", writer="w", argv=["a"], cwd="/")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None:
        pytest.skip("mount is not installed")
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(writer: TapeWriter) -> int:
    """Write until it fails; gives the number of the last event that was surely committed."""
    committed = 0
    try:
        for number in range(10_000):
            body = writer.body(exchange_id=1, side="origin")
            text = b"".join(b"%d " % (number * place * 7919) for place in range(2000))
            body.write(CleanBytes(text), at=number)
            body.finish(framing="length")
            seq = writer.append(CleanRecord(CaptureMissing(at=number, wall=number, what="x" * 99)))
            writer.flush()
            committed = seq
    except TapeWriteFailed:
        return committed
    raise AssertionError("the disk never got full")


def test_a_full_disk_ends_the_recording_and_leaves_a_readable_tape(small_disk: Path) -> None:
    told: list[TapeWriteFailed] = []
    path = small_disk / "x.tape"
    writer = TapeWriter.create(path, on_failure=told.append)
    writer.append(CleanRecord(START))
    committed = fill(writer)
    assert committed > 5
    assert [error.what for error in told] == [f"cannot write {path}: the disk is full"]
    assert "free some space" in (told[0].hint or "")
    with pytest.raises(TapeWriteFailed, match="the disk is full"):
        writer.close()
    with Tape.open(path) as tape:
        assert tape.state == "lost"
        assert tape.last_seq >= committed
        assert verify(tape).intact


def test_a_tape_on_a_full_disk_can_be_repaired_to_another(small_disk: Path, tmp_path: Path) -> None:
    writer = TapeWriter.create(small_disk / "x.tape")
    writer.append(CleanRecord(START))
    committed = fill(writer)
    with pytest.raises(TapeWriteFailed, match="the disk is full"):
        repair(small_disk / "x.tape", small_disk / "y.tape")
    assert not list(small_disk.glob("y.tape*"))
    assert repair(small_disk / "x.tape", tmp_path / "y.tape").events > committed


def test_a_tape_cannot_begin_on_a_full_disk(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(bytes(2 << 20))
    with pytest.raises(TapeWriteFailed, match="the disk is full"):
        TapeWriter.create(small_disk / "x.tape")
    assert not list(small_disk.glob("x.tape*"))


def test_a_disk_that_gets_full_at_the_very_end_loses_nothing(small_disk: Path) -> None:
    path = small_disk / "x.tape"
    writer = TapeWriter.create(path)
    writer.append(CleanRecord(START))
    for number in range(20):
        body = writer.body(exchange_id=1, side="origin")
        body.write(CleanBytes(b"".join(b"%d " % (number * n * 7919) for n in range(2000))), at=1)
        body.finish(framing="length")
    writer.flush()
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(bytes(2 << 20))
    try:
        writer.close()
    except TapeWriteFailed as error:
        assert "the disk is full" in error.what
    with Tape.open(path) as tape:
        assert verify(tape).intact
        assert tape.last_seq == 1
