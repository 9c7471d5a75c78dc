"""The files of a step on two tapes."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rerail.rewind.files import FilesAtStep, files_at
from rerail.rewind.moments import Moments
from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording


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
