"""The files of a step on two tapes."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rerail.errors import NotOnTape, UserError
from rerail.playback.onward import CannotGoOn
from rerail.playback.scratch import Copy
from rerail.rewind.files import FilesAtStep, PutInPlace, files_at
from rerail.rewind.moments import Moments
from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording
from tests.rewind.conftest import Steps


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def tape(opened: ExitStack, path: Path, folder: Path | None) -> Tape:
    recording = Recording.begin(path)
    for exchange in (1, 2):
        recording.chat(exchange, f"turn {exchange}")
        if folder is not None:
            recording.snapshot(folder, "step", exchange_id=exchange)
        recording.reply(exchange, [b"{}"])
    recording.end()
    return opened.enter_context(Tape.open(path))


def test_what_differs_is_counted_and_named(opened: ExitStack, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("one")
    (folder / "gone").touch()
    source = tape(opened, tmp_path / "source.tape", folder)
    same = tape(opened, tmp_path / "same.tape", folder)
    assert files_at(2, Moments.on(source), Moments.on(same)) == FilesAtStep()
    (folder / "a").write_text("two")
    (folder / "gone").unlink()
    (folder / "new").touch()
    fork = tape(opened, tmp_path / "fork.tape", folder)
    assert files_at(2, Moments.on(source), Moments.on(fork)) == FilesAtStep(
        differing=3, differs=["a", "gone", "new"]
    )


def test_without_snapshots_nobody_knows(opened: ExitStack, tmp_path: Path) -> None:
    with_none = tape(opened, tmp_path / "none.tape", None)
    with_some = tape(opened, tmp_path / "some.tape", tmp_path)
    some, none = Moments.on(with_some), Moments.on(with_none)
    assert files_at(1, some, none) is None
    assert files_at(1, none, some) is None
    assert files_at(9, some, some) is None


def test_files_that_are_of_no_one_moment_are_not_put_in_place(make_steps: Steps) -> None:
    with pytest.raises(UserError, match="they are of no one moment"):
        PutInPlace.of(make_steps({"a": "1"}, inconsistent=True), 1)
    tape = make_steps({"a": "1"})
    with pytest.raises(NotOnTape, match="no snapshot of step s9"):
        PutInPlace.of(tape, 9)


def test_what_cannot_be_put_in_place_lets_nothing_go_on(make_steps: Steps, tmp_path: Path) -> None:
    tape = make_steps({"a": "1"})
    files = PutInPlace.of(tape, 1)
    (folder,) = files.snapshots
    gone = Copy(Path(folder), tmp_path / "gone", (), ())
    with pytest.raises(CannotGoOn, match="the files of s1 cannot be put in place") as refused:
        files.put([gone])
    assert refused.value.code == "files_not_in_place"
    assert not files.put([Copy(tmp_path, tmp_path, (), ())])
