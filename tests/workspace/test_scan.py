"""What a scan finds, what it reads again, and what it says of a folder that changes meanwhile."""

import os
import socket
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from rerail.clock import file_time_ns
from rerail.tape.trees import decode_tree, encode_tree
from rerail.workspace.left_out import CREDENTIALS, INSTALLED, OWN, LeftOut
from rerail.workspace.pack import digest_of
from rerail.workspace.restore import remove_folder
from rerail.workspace.scan import RACY_NS, NotKept, Scanner
from tests.workspace.conftest import by_name

Make = Callable[..., Scanner]
LONG_AGO = 10**18


def age(path: Path) -> None:
    os.utime(path, ns=(LONG_AGO, LONG_AGO), follow_symlinks=False)


def later() -> int:
    """A time by which everything that is there was touched long ago."""
    return file_time_ns() + 10 * RACY_NS


def test_a_tree_says_what_is_there(folder: Path, scanner: Make) -> None:
    (folder / "sub").mkdir(mode=0o750)
    (folder / "sub" / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "sub" / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("/nowhere")
    age(folder / "sub" / "run.sh")
    found = by_name(scanner().scan(file_time_ns()).tree)
    assert list(found) == [".", "link", "sub", "sub/run.sh"]
    program, link = found["sub/run.sh"], found["link"]
    assert (program.kind, program.size, program.mtime_ns) == ("file", 10, LONG_AGO)
    assert stat.S_IMODE(program.mode) == 0o755
    assert program.content == sha256(b"#!/bin/sh\n").digest()
    assert (link.kind, link.content) == ("link", b"/nowhere")
    assert found["sub"].kind == "folder"


def test_names_are_bytes(folder: Path, scanner: Make) -> None:
    (folder / "caf\udce9").touch()
    assert scanner().scan(file_time_ns()).tree[1].path == b"caf\xe9"


class Counting:
    """Reads files and counts them."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self, descriptor: int, facts: os.stat_result, asked: bool) -> tuple[bytes, int]:
        self.read += 1
        content = os.read(descriptor, 1000)
        return sha256(content).digest(), len(content)


def test_what_was_not_touched_is_not_read_again(folder: Path, scanner: Make) -> None:
    for name in ("a", "b", "c"):
        (folder / name).write_text(name)
    counting = Counting()
    scan = scanner(counting).scan
    first = scan(later())
    (folder / "b").write_text("B")
    second = scan(later())
    assert counting.read == 4
    assert [entry.name for entry in second.tree if entry not in first.tree] == ["b"]


def test_a_file_of_the_same_size_with_its_old_time_is_read_again(
    folder: Path, scanner: Make
) -> None:
    file = folder / "a"
    file.write_text("one")
    age(file)
    scan = scanner().scan
    before = by_name(scan(later()).tree)["a"]
    file.write_text("two")
    age(file)
    assert by_name(scan(later()).tree)["a"].content != before.content


def test_a_file_touched_just_before_is_read_again(folder: Path, scanner: Make) -> None:
    (folder / "a").write_text("one")
    touched = (folder / "a").stat().st_ctime_ns
    counting = Counting()
    scan = scanner(counting).scan
    scan(touched + RACY_NS)
    scan(touched + RACY_NS + 1)
    scan(touched + RACY_NS + 1)
    assert counting.read == 2


def test_a_mapped_file_is_read_again_as_long_as_it_is(folder: Path) -> None:
    for name in "ab":
        (folder / name).write_text("one")
    counting, mapped, asked = Counting(), {b"a", b"no/such"}, []

    def of_the_run() -> set[bytes]:
        asked.append(1)
        return mapped

    scanner = Scanner(folder, counting, LeftOut(), of_the_run)
    for reads in (2, 3, 4):
        scanner.scan(later())
        assert (counting.read, scanner.stamps) == (reads, None)
    mapped.clear()
    for _ in range(2):
        scanner.scan(later())
        assert counting.read == 5
        assert scanner.stamps is not None
    assert len(asked) == 4  # not where nothing was read


def test_a_quiet_folder_is_told_as_quiet(folder: Path, scanner: Make) -> None:
    (folder / "a").write_text("one")
    assert scanner().scan(later()).late == frozenset()


def test_what_was_touched_since_the_scan_began_is_late(folder: Path, scanner: Make) -> None:
    (folder / "old").write_text("one")
    scan = scanner().scan
    scan(later())
    began = (folder / "old").stat().st_ctime_ns + 1
    while file_time_ns() < began:
        pass
    (folder / "old").write_text("two")
    (folder / "new").write_text("new")
    assert scan(began).late == {b"", b"old", b"new"}


def test_a_file_that_came_and_went_shows_in_its_folder(folder: Path, scanner: Make) -> None:
    began = folder.stat().st_ctime_ns + 1
    while file_time_ns() < began:
        pass
    (folder / "brief").write_text("one")
    (folder / "brief").unlink()
    assert scanner().scan(began).late == {b""}


def test_a_file_that_changes_while_it_is_read_is_late(folder: Path, scanner: Make) -> None:
    file = folder / "a"
    file.write_text("one")
    age(file)

    def keep(descriptor: int, facts: os.stat_result, asked: bool) -> tuple[bytes, int]:
        while file_time_ns() <= facts.st_ctime_ns:
            pass
        file.write_text("two!")
        return b"d" * 32, 3

    assert b"a" in scanner(keep).scan(later()).late


def test_what_is_neither_file_nor_folder_nor_link_is_left_out(folder: Path, scanner: Make) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        found = by_name(scanner().scan(file_time_ns()).tree)
    assert (found["pipe"].kind, found["pipe"].content) == ("left out", b"a named pipe")
    assert found["socket"].content == b"a socket"


def test_what_may_not_be_read_is_left_out(folder: Path, scanner: Make) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (folder / "secret").write_text("x")
    (folder / "secret").chmod(0)
    (folder / "closed").mkdir(mode=0)
    found = by_name(scanner().scan(file_time_ns()).tree)
    assert found["secret"].content == b"cannot be read: Permission denied"
    assert found["closed"].content == b"cannot be read: Permission denied"
    (folder / "closed").chmod(0o700)


def test_what_is_not_kept_is_left_out_with_the_reason(folder: Path, scanner: Make) -> None:
    (folder / "a").write_text("x")

    def keep(descriptor: int, facts: os.stat_result, asked: bool) -> tuple[bytes, int]:
        raise NotKept("too large")

    assert by_name(scanner(keep).scan(file_time_ns()).tree)["a"].content == b"too large"


def test_what_the_table_leaves_out_stands_in_the_tree_with_its_reason(
    folder: Path, scanner: Make
) -> None:
    for name in ("runs", "node_modules", "env", "src"):
        (folder / name).mkdir()
    (folder / "env" / "pyvenv.cfg").write_text("")
    (folder / "env" / "python").write_text("")
    for name in ("run.tape", ".env", "src/a.py", "runs/x", "node_modules/y"):
        (folder / name).write_text("")
    tree = scanner().scan(file_time_ns()).tree
    assert {e.name: e.content.decode() for e in tree if e.kind == "left out"} == {
        "runs": OWN,
        "run.tape": OWN,
        ".env": CREDENTIALS,
        "node_modules": INSTALLED,
        "env": INSTALLED,
    }
    assert [e.name for e in tree if e.kind != "left out"] == [".", "src", "src/a.py"]


def test_a_marked_folder_is_there_where_it_was_asked_for(folder: Path, scanner: Make) -> None:
    (folder / "env").mkdir()
    (folder / "env" / "pyvenv.cfg").write_text("")
    scan = scanner(left_out=LeftOut(include=["env"])).scan
    assert by_name(scan(file_time_ns()).tree)["env/pyvenv.cfg"].kind == "file"


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        Scanner(tmp_path / "none", Counting(), LeftOut()).scan(file_time_ns())


def test_a_folder_that_becomes_a_link_while_it_is_read_is_not_followed(
    folder: Path, scanner: Make, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"not for a tape")
    (folder / "d" / "e").mkdir(parents=True)
    (folder / "a").touch()

    def keep(descriptor: int, facts: os.stat_result, asked_for: bool) -> tuple[bytes, int]:
        if not (folder / "d").is_symlink():
            (folder / "d").rename(tmp_path / "moved")
            (folder / "d").symlink_to(outside)
        return digest_of(descriptor, facts, asked_for)

    scan = scanner(keep).scan(file_time_ns())
    assert set(by_name(scan.tree)) == {".", "a", "d"}
    assert by_name(scan.tree)["d"].kind == "left out"
    assert b"d" in scan.late


def test_a_folder_that_is_too_deep_is_left_out(folder: Path, scanner: Make) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(2100):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    tree = scanner().scan(file_time_ns()).tree
    assert decode_tree(encode_tree(tree)) == tree
    assert tree[-1].kind == "left out"
    remove_folder(folder)
