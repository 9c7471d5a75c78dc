"""A snapshot's files are part of what a tape's root covers: checked, and saved by a repair."""

import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from rerail.tape.clean import CleanBytes
from rerail.tape.reader import Tape
from rerail.tape.records import WorkspaceSnapshot
from rerail.tape.repair import repair
from rerail.tape.seal import verify
from rerail.tape.trees import Entry, Tree, encode_tree
from tests.tape.conftest import Run

ROOT = Entry(b"", "folder", stat.S_IFDIR | 0o755)
FILE = b"the content of a file"


def file(content: bytes = FILE) -> Entry:
    return Entry(b"a", "file", stat.S_IFREG | 0o644, len(content), 1, sha256(content).digest())


def snapshot(run: Run, tree: Tree | bytes) -> None:
    data = tree if isinstance(tree, bytes) else encode_tree(tree)
    digest = run.writer.blob(CleanBytes(data))
    run.add(
        WorkspaceSnapshot(at=1, wall=1, folder="/w", tree=digest, tree_size=len(data), why="start")
    )


def codes(path: Path) -> list[str]:
    with Tape.open(path) as tape:
        return [finding.code for finding in verify(tape).findings]


def test_the_files_of_a_tree_are_named(start_run: Callable[..., Run]) -> None:
    run = start_run()
    run.writer.blob(CleanBytes(FILE))
    snapshot(run, (ROOT, file()))
    run.end()
    assert codes(run.path) == []


def test_a_file_that_is_missing_is_found(start_run: Callable[..., Run]) -> None:
    run = start_run()
    snapshot(run, (ROOT, file()))
    run.end()
    assert codes(run.path) == ["content-missing"]


@pytest.mark.parametrize("tree", [b"no tree", encode_tree((ROOT, Entry(b"..", "link", 0)))])
def test_a_tree_that_cannot_be_used_is_found(start_run: Callable[..., Run], tree: bytes) -> None:
    run = start_run()
    snapshot(run, tree)
    run.end()
    assert codes(run.path) == ["content-altered"]


def test_half_a_file_is_nothing(start_run: Callable[..., Run], tmp_path: Path) -> None:
    run = start_run()
    body = run.writer.body(exchange_id=0, side="workspace")
    body.write(CleanBytes(bytes(300_000)), at=0)
    left = run.left_behind(tmp_path / "left")
    with Tape.open(left) as tape:
        assert tape.unfinished() == []
    run.end()


@pytest.mark.parametrize("size", [20, 9 << 20])
def test_a_repair_saves_the_files(start_run: Callable[..., Run], tmp_path: Path, size: int) -> None:
    run, content = start_run(), b"x" * size
    body = run.writer.body(exchange_id=0, side="workspace")
    body.write(CleanBytes(content), at=0)
    body.finish(framing="none")
    snapshot(run, (ROOT, file(content)))
    left = run.left_behind(tmp_path / "left")
    saved = repair(left, tmp_path / "saved.tape")
    assert saved.lost == ()
    with Tape.open(tmp_path / "saved.tape") as tape:
        assert tape.blob(sha256(content).digest()) == content
    run.end()


def test_a_repair_says_that_a_file_is_lost(start_run: Callable[..., Run], tmp_path: Path) -> None:
    run = start_run()
    snapshot(run, (ROOT, file()))
    run.end()
    [lost] = repair(run.path, tmp_path / "saved.tape").lost
    assert "it is missing" in lost
