"""Folders to scan, and what a scan of them says."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from rerail.clock import file_time_ns
from rerail.tape.trees import Entry, Tree
from rerail.workspace.left_out import LeftOut
from rerail.workspace.pack import digest_of
from rerail.workspace.scan import Keep, Scanner


class Shelf:
    """Contents by their digests, taken from the files of a folder."""

    def __init__(self) -> None:
        self.contents: dict[bytes, bytes] = {}

    def take(self, folder: Path, tree: Tree) -> None:
        for entry in tree:
            if entry.kind == "file":
                content = (folder / entry.name).read_bytes()
                self.contents[sha256(content).digest()] = content

    def __call__(self, digest: bytes) -> list[bytes]:
        return [self.contents[digest]]


def by_name(tree: Tree) -> dict[str, Entry]:
    return {entry.name: entry for entry in tree}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    place.mkdir()
    return place


@pytest.fixture
def scanner(folder: Path) -> Callable[..., Scanner]:
    """`scanner(keep, left_out)` is one for the folder."""

    def make(keep: Keep = digest_of, left_out: LeftOut | None = None) -> Scanner:
        return Scanner(folder, keep, left_out or LeftOut())

    return make


@pytest.fixture
def scanned() -> Callable[[Path], Tree]:
    """The tree of any folder."""
    return lambda place: Scanner(place, digest_of, LeftOut()).scan(file_time_ns()).tree
