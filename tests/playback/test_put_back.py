"""Recorded files are put into a copy: what came otherwise, and nothing besides."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rerail.playback.put_back import PutBack, put_back
from rerail.playback.scratch import Copy, Scratch
from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording
from rerail.workspace.kept import Kept


class Case:
    """A tape with a folder at its start and at a step, and a copy of the start."""

    def __init__(self, tape: Tape, scratch: Scratch) -> None:
        self.kept = Kept(tape)
        self.scratch = scratch

    @property
    def copy(self) -> Copy:
        return self.scratch.workspace

    @property
    def place(self) -> Path:
        return self.copy.place

    def put(self) -> list[str]:
        return put_back(self.copy, self.kept.tree(self.kept.workspace[1]), self.kept)


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    folder = tmp_path / "folder"
    (folder / "kept").mkdir(parents=True)
    (folder / "kept" / "a").write_text("one")
    (folder / ".env").write_text("secret")
    recording = Recording.begin(tmp_path / "run.tape")
    recording.snapshot(folder, "start")
    (folder / "kept" / "a").write_text("two")
    (folder / "new").mkdir()
    (folder / "new" / "b").write_text("new")
    recording.chat(1)
    recording.snapshot(folder, "restored", exchange_id=1)
    recording.end()
    with ExitStack() as stack:
        tape = stack.enter_context(Tape.open(recording.path))
        scratch = Scratch.make(tape, overlay=False)
        assert scratch is not None
        yield Case(tape, stack.enter_context(scratch))


def test_what_is_otherwise_is_named_and_made_as_recorded(case: Case) -> None:
    (case.place / "odd").mkdir()
    (case.place / "odd" / "c").touch()
    assert case.put() == ["kept/a", "new", "new/b", "odd", "odd/c"]
    assert (case.place / "kept" / "a").read_text() == "two"
    assert (case.place / "new" / "b").read_text() == "new"
    assert not (case.place / "odd").exists()
    assert case.put() == []


def test_a_file_that_is_the_same_is_not_touched(case: Case) -> None:
    case.put()
    before = (case.place / "kept" / "a").stat()
    os.utime(case.place / "kept" / "a", ns=(1, 1))
    assert case.put() == []
    after = (case.place / "kept" / "a").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, 1)


def test_what_was_left_out_or_laid_on_top_stays(case: Case) -> None:
    (case.place / "kept" / "a").write_text("mine")
    (case.place / ".env").write_text("here")
    case.copy.laid_on_top.append("kept/a")
    assert case.put() == ["new", "new/b"]
    assert (case.place / "kept" / "a").read_text() == "mine"
    assert (case.place / ".env").read_text() == "here"


def test_a_tape_says_at_which_exchange(case: Case) -> None:
    back = PutBack(case.kept, case.scratch.copies)
    assert not back.serving(2)
    assert back.serving(1)
    assert (case.place / "new" / "b").exists()
