"""Descendants, read from /proc."""

import os
import subprocess
from collections.abc import Callable
from mmap import ACCESS_COPY, ACCESS_READ, mmap
from pathlib import Path

import pytest

from rerail.launch import family
from rerail.launch.family import (
    alive_in_session,
    alive_with,
    arguments_of,
    descendants_of,
    family_of,
    is_childless,
    mapped_by,
    own_children,
)


def test_grandchildren_are_descendants(eventually: Callable[..., None]) -> None:
    child = subprocess.Popen(["sh", "-c", "sleep 60; true"])
    try:
        sleeper = [["sleep", "60"]]
        eventually(lambda: [arguments_of(pid) for pid in descendants_of(child.pid)] == sleeper)
        assert child.pid in descendants_of(os.getpid())
        assert family_of(child.pid) == descendants_of(child.pid)
        assert set(descendants_of(child.pid)) <= set(family_of(os.getpid()))
        assert child.pid in own_children()
        assert not is_childless()
    finally:
        for pid in descendants_of(child.pid):
            os.kill(pid, 9)
        child.wait(10)


def test_a_process_that_has_ended_does_not_run(eventually: Callable[..., None]) -> None:
    child = subprocess.Popen(["true"])
    eventually(lambda: child.pid not in descendants_of(os.getpid()))
    assert child.pid in own_children()  # until it is waited for
    child.wait(10)


def test_what_a_process_may_write_as_memory(tmp_path: Path) -> None:
    file = tmp_path / "a name with spaces"
    file.write_bytes(bytes(4096))
    with file.open("r+b") as opened:
        named = os.fsencode(file.resolve())
        with mmap(opened.fileno(), 4096):
            assert named in mapped_by([os.getpid(), 2**22 + 1])
        for access in (ACCESS_READ, ACCESS_COPY):
            with mmap(opened.fileno(), 4096, access=access):
                assert named not in mapped_by([os.getpid()])


def test_a_process_that_is_gone_has_no_arguments() -> None:
    assert arguments_of(2**22 + 1) == []


def test_who_has_no_child_is_told_so_by_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = [tmp_path / "self" / "task" / task / "children" for task in ("1", "2")]
    for file in lists:
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
    monkeypatch.setattr(family, "PROC", tmp_path)
    assert is_childless()
    lists[1].write_bytes(b"7 ")
    assert not is_childless()


def test_a_name_with_parentheses_and_spaces_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pid, line in {"7": b"7 (a) S 3 (b) S 1 7 7 0", "8": b"8 ((x y)) Z 7 7 7 0"}.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_bytes(line)
    monkeypatch.setattr(family, "PROC", tmp_path)
    assert descendants_of(1) == [7]


def test_without_proc_nobody_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "PROC", tmp_path / "nowhere")
    assert descendants_of(1) == []
    assert family_of(1) == []
    assert own_children() == []
    assert not is_childless()


def test_a_session_lives_as_long_as_one_of_its_processes(eventually: Callable[..., None]) -> None:
    leader = subprocess.Popen(["sh", "-c", "sleep 60 & exit"], start_new_session=True)
    leader.wait(10)
    eventually(lambda: alive_in_session(leader.pid) != [])
    [sleeper] = alive_in_session(leader.pid)
    os.kill(sleeper, 9)
    eventually(lambda: alive_in_session(leader.pid) == [])
    assert alive_in_session(0) == []


def test_a_process_is_known_by_a_variable_it_was_started_with() -> None:
    told = {**os.environ, "RERAIL_TEST_OF_FAMILY": "this one"}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=told) as child:
        assert alive_with("RERAIL_TEST_OF_FAMILY", "this one") == [child.pid]
        assert alive_with("RERAIL_TEST_OF_FAMILY", "this") == []
        child.communicate()
    assert alive_with("RERAIL_TEST_OF_FAMILY", "this one") == []
