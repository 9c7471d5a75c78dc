"""Recorded files put into the copies of a replay while its command waits for a reply.

A rewind does it once, where it goes live and was asked to; a replay of its fork does it again.
"""

from collections.abc import Sequence

from rerail.playback.scratch import Copy
from rerail.tape.records import WorkspaceSnapshot
from rerail.tape.trees import Entry, Tree
from rerail.workspace.changes import changes, held, same_thing
from rerail.workspace.kept import Kept
from rerail.workspace.present import Remembered, present_tree
from rerail.workspace.restore import apply


def put_back(copy: Copy, tree: Tree, kept: Kept) -> list[str]:
    """Make a copy what a tree says, but for what was laid on top; returns the paths that differed.

    Raises OSError, NotOnTape, TapeAltered.
    """
    left_out = {entry.path for entry in (*copy.start, *tree) if entry.kind == "left out"}
    aside = copy.aside | left_out
    now = held(present_tree(copy.place, tree, Remembered(tree, copy.start, copy.end)))
    found = changes(_without(tree, aside), _without(now, aside), same=same_thing)
    wanted: dict[bytes, Entry] = {entry.path: entry for entry in now}
    for entry in found.added:
        del wanted[entry.path]
    for entry in (*found.removed, *(was for was, _ in found.changed)):
        wanted[entry.path] = entry
    if found:
        target = tuple(wanted[path] for path in sorted(wanted))
        apply(now, target, copy.place, kept.by_digest)
    names = [entry.name for entry in (*found.added, *found.removed)]
    return sorted([*names, *(was.name for was, _ in found.changed)])


def _without(tree: Tree, paths: set[bytes]) -> Tree:
    return tuple(entry for entry in held(tree) if entry.path not in paths)


class PutBack:
    """The files that a tape says were put in place at its exchanges, for the copies of a replay."""

    def __init__(self, kept: Kept, copies: Sequence[Copy]) -> None:
        self._kept = kept
        self._copies = {str(copy.recorded): copy for copy in copies}
        self._at: dict[int, list[WorkspaceSnapshot]] = {}
        for snapshot in kept.all:
            if snapshot.why == "restored":
                self._at.setdefault(snapshot.exchange_id, []).append(snapshot)

    def serving(self, exchange_id: int) -> bool:
        """The reply of an exchange is about to be sent; whether files were put in place for it.

        Raises OSError, NotOnTape, TapeAltered.
        """
        snapshots = self._at.get(exchange_id, ())
        for snapshot in snapshots:
            copy = self._copies.get(snapshot.folder)
            if copy is not None:
                put_back(copy, self._kept.tree(snapshot), self._kept)
        return bool(snapshots)
