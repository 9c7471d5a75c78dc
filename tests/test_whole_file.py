"""A file written whole: what a reader finds, at every moment, and what is left behind."""

import os
from pathlib import Path

import pytest

from rerail.whole_file import SHARED, create_whole, replace_whole


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_one_that_is_there_is_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    replace_whole(path, b"one")
    replace_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_of_the_old_one_keeps_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    replace_whole(path, b"the old one")
    with path.open("rb") as reader:
        replace_whole(path, b"new")
        assert reader.read() == b"the old one"


def test_where_one_is_none_is_created(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    create_whole(path, b"first")
    with pytest.raises(FileExistsError):
        create_whole(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", [replace_whole, create_whole])
def test_it_takes_its_place_only_when_it_is_on_the_disk(
    tmp_path: Path, write: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "entry.json"
    seen = []

    def full(descriptor: int) -> None:
        seen.append((path.exists(), os.fstat(descriptor).st_size))
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert callable(write)
    with pytest.raises(OSError, match="no space"):
        write(path, b"content")
    assert seen == [(False, 7)]
    assert not list(tmp_path.iterdir())


def test_it_is_its_owners_alone_unless_it_is_to_be_shared(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_whole(tmp_path / "mine", b"")
        create_whole(tmp_path / "new", b"")
        replace_whole(tmp_path / "ours", b"", mode=SHARED)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "mine") == mode_of(tmp_path / "new") == 0o600
    assert mode_of(tmp_path / "ours") == 0o640
