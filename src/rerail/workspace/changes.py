"""What differs between two trees of one folder. Knows trees, not files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rerail.tape.trees import Entry, Tree

_PROGRAM: Final = 0o100

Same = Callable[[Entry, Entry], bool]


@dataclass(frozen=True, slots=True)
class Changes:
    """Entries that came, that went, and that are others now (before, after), by path."""

    added: tuple[Entry, ...] = ()
    removed: tuple[Entry, ...] = ()
    changed: tuple[tuple[Entry, Entry], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    @property
    def count(self) -> int:
        """How many paths differ."""
        return len(self.added) + len(self.removed) + len(self.changed)


def same_content(one: Entry, other: Entry) -> bool:
    """Whether two entries are the same but for their times; of a folder its mode counts."""
    return (one.kind, one.mode, one.content) == (other.kind, other.mode, other.content)


def same_thing(one: Entry | None, other: Entry | None) -> bool:
    """The same more loosely: of a mode only whether it is a program counts. None is like none."""
    if one is None or other is None:
        return one is other
    if one.kind == other.kind == "folder":
        return True
    return (one.kind, one.mode & _PROGRAM, one.content) == (
        other.kind, other.mode & _PROGRAM, other.content
    )  # fmt: skip


def held(tree: Tree) -> Tree:
    """What a tree holds, without what was left out."""
    return tuple(entry for entry in tree if entry.kind != "left out")


def changes(before: Tree, after: Tree, *, same: Same = same_content) -> Changes:
    """What has to be done to `before` to get `after`."""
    old = {entry.path: entry for entry in before}
    new = {entry.path: entry for entry in after}
    added = tuple(entry for entry in after if entry.path not in old)
    removed = tuple(entry for entry in before if entry.path not in new)
    both = ((old[entry.path], entry) for entry in after if entry.path in old)
    changed = tuple((was, now) for was, now in both if was is not now and not same(was, now))
    return Changes(added, removed, changed)
