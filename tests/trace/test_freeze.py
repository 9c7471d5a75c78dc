"""Freezing: the bytes stay, the tape is read-only, and what a killed recorder left gets a seal."""

import stat
from hashlib import sha256
from pathlib import Path

import pytest

from rerail.errors import TapeUnreadable
from rerail.tape.reader import Tape
from rerail.tape.seal import verify
from rerail.testing.tapes import Recording
from rerail.trace.freeze import StillRunning, freeze, freeze_file


def is_read_only(path: Path) -> bool:
    return not stat.S_IMODE(path.stat().st_mode) & 0o222


def test_a_finished_tape_stays_where_it_is(tmp_path: Path) -> None:
    made = Recording.begin(tmp_path / "run.tape")
    tape_id = made.end()
    before = made.path.read_bytes()
    frozen = freeze(made.path, tmp_path / "case" / "A")
    assert (frozen.path, frozen.tape_id, frozen.state) == (made.path, tape_id, "finished")
    assert frozen.files == {"run.tape": sha256(before).hexdigest()}
    assert made.path.read_bytes() == before
    assert is_read_only(made.path)
    assert not (tmp_path / "case").exists()


def test_a_pair_is_kept_as_it_is_and_sealed_beside(tmp_path: Path) -> None:
    made = Recording.begin(tmp_path / "made.tape")
    made.request(1)
    left = made.leave(tmp_path / "left.tape")
    made.end()
    files = sorted(tmp_path.glob("left.tape*"))
    before = {path.name: path.read_bytes() for path in files}
    (tmp_path / "case").mkdir()
    frozen = freeze(left, tmp_path / "case" / "A")
    assert frozen.state == "lost"
    assert {path.name: path.read_bytes() for path in files} == before
    kept = {path.name: path.read_bytes() for path in frozen.path.parent.glob("left.tape*")}
    assert kept == before
    assert all(map(is_read_only, [*files, frozen.path]))
    with Tape.open(frozen.path) as tape:
        assert verify(tape).intact
        assert tape.id == frozen.tape_id


def test_a_run_that_goes_on_is_not_frozen(tmp_path: Path) -> None:
    made = Recording.begin(tmp_path / "run.tape")
    made.writer.flush()
    with pytest.raises(StillRunning):
        freeze(made.path, tmp_path / "A")
    made.request(1)
    made.end()


def test_what_is_no_tape_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(TapeUnreadable):
        freeze(tmp_path / "notes.txt", tmp_path / "A")
    assert not is_read_only(tmp_path / "notes.txt")


def test_what_another_program_may_go_on_with_is_copied(tmp_path: Path) -> None:
    log, there = tmp_path / "session.jsonl", tmp_path / "case" / "originals" / "A"
    log.write_text("x")
    for _ in range(2):
        copy, files = freeze_file(log, there)
        assert (copy, files) == (
            there / "session.jsonl",
            {"session.jsonl": sha256(b"x").hexdigest()},
        )
    assert is_read_only(copy)
    assert not is_read_only(log)
    log.write_text("xy")
    assert copy.read_text() == "x"
