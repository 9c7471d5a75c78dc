"""A folder becomes a proposal on the tape, and a folder again, to the byte."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerail.capture.recorder import Recorder
from rerail.clock import RunClock
from rerail.tape.reader import Tape
from rerail.task.trees import OURS, copy_folder, counted, in_words, make, propose, read_back
from rerail.testing.tapes import Recording


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = Recording.begin(tmp_path / "run.tape")
    yield made
    made.writer.close()


@pytest.fixture
def recorder(recording: Recording) -> Recorder:
    return Recorder(recording.writer, recording.redactor, RunClock())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("one")
    (folder / "run.sh").write_text("#!/bin/sh")
    (folder / "run.sh").chmod(0o755)
    (folder / "deep" / "b.txt").write_text("two")
    (folder / "link").symlink_to("a.txt")
    (folder / ".env").write_text("KEY=1")
    return folder


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def test_a_copy_is_what_was_there_with_its_times(
    source: Path, scratch: Path, recorder: Recorder
) -> None:
    os.utime(source / "a.txt", ns=(10**18, 10**18))
    kept = copy_folder(source, scratch, recorder)
    assert (scratch / "a.txt").stat().st_mtime_ns == 10**18
    assert (scratch / "run.sh").stat().st_mode & stat.S_IXUSR
    assert (scratch / "link").readlink() == Path("a.txt")
    assert not (scratch / ".env").exists()
    assert [item.path for item in kept.left_out] == [".env"]
    assert all(entry.mtime_ns == 0 for entry in kept.tree)


def test_what_changed_is_proposed_and_can_be_made_again(
    source: Path, scratch: Path, recorder: Recorder, recording: Recording, tmp_path: Path
) -> None:
    base = copy_folder(source, scratch, recorder)
    (scratch / "a.txt").write_text("another")
    (scratch / "deep" / "b.txt").unlink()
    (scratch / "new").mkdir()
    (scratch / "new" / "c.bin").write_bytes(bytes(range(256)))
    (scratch / OURS).mkdir()
    (scratch / OURS / "task.json").write_text("{}")
    proposed = propose(recorder, base, scratch)
    assert in_words(proposed) == "M a.txt, D deep/b.txt, A new/, A new/c.bin"
    assert counted(proposed.made, base.tree) == {"added": 2, "changed": 1, "removed": 1}
    recording.writer.flush()
    again = tmp_path / "again"
    again.mkdir()
    with Tape.open(recording.path) as tape:
        make(proposed.after.tree, again, tape.blob_stream)
    assert (again / "new" / "c.bin").read_bytes() == bytes(range(256))
    assert not (again / "deep" / "b.txt").exists()
    assert not (again / OURS).exists()
    assert read_back(again, base.tree) == proposed.ref
    (again / "a.txt").write_text("touched in between")
    assert read_back(again, base.tree) != proposed.ref


def test_modes_are_shown_to_who_is_asked(source: Path, scratch: Path, recorder: Recorder) -> None:
    base = copy_folder(source, scratch, recorder)
    (scratch / "a.txt").chmod(0o4755)
    (scratch / "deep").chmod(0o777)
    (scratch / "link").unlink()
    (scratch / "link").mkdir(mode=0o700)
    (scratch / "new.sh").touch()
    (scratch / "new.sh").chmod(0o755)
    (scratch / "to").symlink_to("/etc")
    before = (source / "a.txt").stat().st_mode & 0o7777, (source / "deep").stat().st_mode & 0o7777
    said = in_words(propose(recorder, base, scratch))
    assert said.split(", ") == [
        f"M a.txt (mode {before[0]:04o} to 4755)",
        f"M deep/ (mode {before[1]:04o} to 0777)",
        "M link/ (mode 0700)",
        "A new.sh (mode 0755)",
        "A to (a link to /etc)",
    ]


def test_links_and_special_files_are_shown_to_who_is_asked(
    source: Path, scratch: Path, recorder: Recorder
) -> None:
    base = copy_folder(source, scratch, recorder)
    for name in ("a.txt", "link", "run.sh"):
        (scratch / name).unlink()
    (scratch / "a.txt").symlink_to("../elsewhere")
    (scratch / "link").symlink_to("deep/b.txt")
    os.mkfifo(scratch / "run.sh")
    proposed = propose(recorder, base, scratch)
    assert proposed.leaving == ["a.txt"]
    assert in_words(proposed).split(", ") == [
        "M a.txt (a link to ../elsewhere)",
        "M link (a link to deep/b.txt)",
        "D run.sh (a named pipe stands there)",
    ]


def test_the_same_change_has_the_same_name_in_another_run(
    source: Path, scratch: Path, recorder: Recorder, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    refs = []
    for folder in (scratch, other):
        base = copy_folder(source, folder, recorder)
        (folder / "a.txt").write_text("another")
        refs.append(propose(recorder, base, folder).ref)
    assert refs[0] == refs[1]


def test_nothing_changed_is_nothing_proposed(
    source: Path, scratch: Path, recorder: Recorder
) -> None:
    base = copy_folder(source, scratch, recorder)
    (scratch / "a.txt").touch()
    assert propose(recorder, base, scratch).made.changes == ()
