"""What a killed process left is known by its lock; what is just being made is not taken for it."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rerail.launch import left
from rerail.launch.left import hold, left_in


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def found(place: Path, prefix: str = "") -> list[str]:
    return sorted(folder.name for folder, _ in left_in(place, "lock", prefix=prefix))


def test_a_folder_is_left_once_nobody_holds_it(tmp_path: Path) -> None:
    lock = hold(made(tmp_path / "a") / "lock", b"what it names")
    assert found(tmp_path) == []
    os.close(lock)
    [(folder, held)] = left_in(tmp_path, "lock")
    assert folder == tmp_path / "a"
    [held] = [os.pread(held, 99, 0) for _, held in left_in(tmp_path, "lock")]
    assert held == b"what it names"


def test_who_is_about_to_hold_it_is_not_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the file and the lock on it: a second process looks just then."""
    seen: list[list[str]] = []
    real = fcntl.flock

    def looked_at(descriptor: int, how: int) -> None:
        if how == fcntl.LOCK_EX:
            seen.append(found(tmp_path))
        real(descriptor, how)

    monkeypatch.setattr(left.fcntl, "flock", looked_at)
    os.close(hold(made(tmp_path / "a") / "lock", b"\n"))
    assert seen == [[]]


def test_what_is_looked_at_is_held_meanwhile(tmp_path: Path) -> None:
    os.close(hold(made(tmp_path / "a") / "lock", b"\n"))
    for _ in left_in(tmp_path, "lock"):
        assert found(tmp_path) == []
    assert found(tmp_path) == ["a"]


def test_what_is_not_ours_to_judge_is_left_alone(tmp_path: Path) -> None:
    os.close(hold(made(tmp_path / "other") / "lock", b"\n"))
    made(tmp_path / "our-empty")
    os.close(hold(tmp_path / "our-file", b"\n"))
    (tmp_path / "our-link").symlink_to(tmp_path / "other")
    os.close(hold(made(tmp_path / "our-own") / "lock", b"\n"))
    assert found(tmp_path, "our-") == ["our-own"]
    assert found(tmp_path / "nowhere") == []


def test_a_lock_is_no_link(tmp_path: Path) -> None:
    folder = made(tmp_path / "a")
    (folder / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        hold(folder / "lock", b"\n")
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_that_was_written_in_part_is_an_error(tmp_path: Path) -> None:
    """As on a disk that is nearly full: the first write takes what there is room for."""
    size = 4096
    limited = f"""
import resource, signal
from pathlib import Path
from rerail.launch.left import hold
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size // 4}, {size // 4}))
try:
    hold(Path({str(tmp_path / "page")!r}), bytes({size}))
except OSError as error:
    print(error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("File too large\n", "")
