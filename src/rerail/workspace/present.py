"""A folder as it is now, read for a comparison with recorded trees. Keeps nothing."""

import os
from pathlib import Path

from rerail.tape.trees import Tree
from rerail.workspace.left_out import LeftOut
from rerail.workspace.pack import digest_of, refuse_large
from rerail.workspace.scan import Scanner


class Remembered:
    """Digests of files that trees know: what has the size and time of one is not read.

    So it is with make and rsync. Where two contents had the same size and time, it is read; what is
    too large for a snapshot is not, but where a tree knows a file of that size.
    """

    def __init__(self, *trees: Tree) -> None:
        self._known: dict[tuple[int, int], bytes | None] = {}
        self._sizes = {entry.size for tree in trees for entry in tree if entry.kind == "file"}
        for tree in trees:
            for entry in tree:
                if entry.kind == "file":
                    self._take((entry.size, entry.mtime_ns), entry.content)

    def _take(self, key: tuple[int, int], digest: bytes) -> None:
        same = self._known.get(key, digest) == digest
        self._known[key] = digest if same else None

    def __call__(
        self, descriptor: int, facts: os.stat_result, asked_for: bool
    ) -> tuple[bytes, int]:
        """What `rerail.workspace.scan.Keep` is asked."""
        known = self._known.get((facts.st_size, facts.st_mtime_ns))
        if known:
            return known, facts.st_size
        if facts.st_size not in self._sizes:
            refuse_large(facts, asked_for)
        return digest_of(descriptor, facts, asked_for)


def present_tree(folder: Path, recorded: Tree, remembered: Remembered) -> Tree:
    """What is in a folder now, of what a recording of it would have kept. Raises OSError."""
    left = {entry.path for entry in recorded if entry.kind == "left out"}
    rules = LeftOut(own=left, held={entry.path for entry in recorded} - left)
    return Scanner(folder, remembered, rules).scan(0).tree
