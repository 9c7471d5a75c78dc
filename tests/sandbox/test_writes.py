"""Which path a waiting call would change, read from the memory of its process."""

import ctypes
import os
from pathlib import Path

import pytest

from rerail.sandbox import notify, writes
from rerail.sandbox.writes import path_of, refused_path

HERE = 2**64 - 100
"""AT_FDCWD as a register holds it."""


def call(*arguments: "int | ctypes.Array[ctypes.c_char]") -> notify.Call:
    words = [arg if isinstance(arg, int) else ctypes.addressof(arg) for arg in arguments]
    return notify.Call(os.getpid(), 0, 0, tuple([*words, 0, 0, 0, 0, 0, 0][:6]))


def text(path: str) -> "ctypes.Array[ctypes.c_char]":
    return ctypes.create_string_buffer(path.encode())


def test_a_path_is_made_absolute_as_its_process_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = os.open("/usr/lib", os.O_RDONLY)
    absolute, relative = text("/etc/../etc/x"), text("a/../b")
    assert path_of(call(absolute, os.O_CREAT), "open") == "/etc/x"
    assert path_of(call(HERE, relative, os.O_CREAT), "openat") == str(tmp_path / "b")
    assert path_of(call(folder, relative), "mkdirat") == "/usr/lib/b"
    assert path_of(call(absolute, folder, relative), "symlinkat") == "/usr/lib/b"
    assert path_of(call(HERE, absolute, folder, relative), "renameat2") == "/usr/lib/b"
    os.close(folder)


def test_a_long_path_goes_over_the_end_of_a_page() -> None:
    long = "/" + "x" * 3000 + "/" + "y" * 900
    for _ in range(3):
        assert path_of(call(text(long)), "mkdir") == long


def test_what_may_be_written_is_not_refused(tmp_path: Path) -> None:
    inside, beside = text(str(tmp_path / "x")), text(str(tmp_path) + "-beside")
    for named in (inside, text(str(tmp_path)), text("/dev/null"), text("/proc/self/comm")):
        assert refused_path(call(named, os.O_CREAT), "creat", [str(tmp_path)]) is None
    # Nothing here is mounted read-only, so this is not refused either, for that other reason.
    assert refused_path(call(beside, os.O_CREAT), "creat", [str(tmp_path)]) is None


def test_a_read_only_mount_refuses_what_would_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ReadOnly:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(writes.os, "statvfs", lambda path: ReadOnly())
    there, missing = text(str(tmp_path / "there")), text(str(tmp_path / "missing"))
    cache = text(str(tmp_path / "__pycache__" / "x.pyc"))
    (tmp_path / "there").touch()
    refused = [
        (there, os.O_WRONLY, "open", True),
        (there, os.O_RDONLY | os.O_CREAT, "open", False),
        (missing, os.O_RDONLY | os.O_CREAT, "open", True),
        (missing, os.O_RDWR, "open", False),
        (missing, 0, "unlink", False),
        (there, 0, "unlink", True),
        (there, 0, "mkdir", False),
        (missing, 0, "mkdir", True),
        (cache, 0, "creat", False),
    ]
    for path, flags, name, expected in refused:
        found = refused_path(call(path, flags), name, [])
        assert (found is not None) is expected, (path.value, name)
