"""Whether a folder is untouched, told by times alone."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.workspace.stamps import MOST, Stamps, key_of


def _stamps(folder: Path, *, left: tuple[str, ...] = ()) -> Stamps:
    stamps = Stamps()
    for path in (folder, *folder.rglob("*")):
        facts = path.lstat()
        if path.name in left:
            stamps.take_left(os.fsencode(path), facts.st_mode, 0)
        else:
            stamps.take(os.fsencode(path), key_of(facts), before=2**62)
    return stamps


def _write(folder: Path) -> None:
    (folder / "a").write_text("longer")


def _other_time(folder: Path) -> None:
    os.utime(folder / "a", ns=(1, 1))


def _add(folder: Path) -> None:
    (folder / "sub" / "new").write_text("")


def _remove(folder: Path) -> None:
    (folder / "a").unlink()


def _mode(folder: Path) -> None:
    (folder / "a").chmod(0o600)


def _replace(folder: Path) -> None:
    (folder / "other").write_text("one")
    (folder / "other").replace(folder / "a")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_text("one")
    return tmp_path


@pytest.mark.parametrize("touch", [_write, _other_time, _add, _remove, _mode, _replace])
def test_each_touch_is_seen(folder: Path, touch: Callable[[Path], None]) -> None:
    os.utime(folder / "sub", ns=(1, 1))
    stamps = _stamps(folder)
    assert stamps.usable
    assert stamps.hold()
    touch(folder)
    assert not stamps.hold()


def test_what_is_left_out_may_be_written_to(folder: Path) -> None:
    stamps = _stamps(folder, left=("a",))
    _write(folder)
    assert stamps.hold()
    _mode(folder)
    assert not stamps.hold()


def test_what_was_touched_too_shortly_before_tells_nothing(folder: Path) -> None:
    stamps, facts = Stamps(), folder.stat()
    stamps.take(os.fsencode(folder), key_of(facts), before=facts.st_ctime_ns)
    assert not stamps.usable


def test_a_large_folder_is_not_asked(folder: Path) -> None:
    stamps, key = Stamps(), key_of(folder.stat())
    for _ in range(MOST + 1):
        stamps.take(os.fsencode(folder), key, before=2**62)
    assert not stamps.usable
