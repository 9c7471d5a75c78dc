"""The difference of two trees."""

import stat

from rerail.tape.trees import Entry
from rerail.workspace.changes import changes, held

ROOT = Entry(b"", "folder", stat.S_IFDIR | 0o755)


def file(path: bytes, content: bytes = b"d" * 32, mode: int = 0o644, at: int = 1) -> Entry:
    return Entry(path, "file", stat.S_IFREG | mode, 3, at, content)


def test_what_came_what_went_and_what_is_another() -> None:
    before = (ROOT, file(b"a"), file(b"b"), file(b"c"), file(b"d"), file(b"e"))
    after = (ROOT, file(b"a"), file(b"b", at=2), file(b"c", b"e" * 32), file(b"d", mode=0o755),
             file(b"f"))  # fmt: skip
    found = changes(before, after)
    assert [entry.path for entry in found.added] == [b"f"]
    assert [entry.path for entry in found.removed] == [b"e"]
    assert [now.path for _, now in found.changed] == [b"c", b"d"]
    assert found.count == 4


def test_the_same_tree_has_no_changes() -> None:
    tree = (ROOT, file(b"a"))
    assert not changes(tree, tree)


def test_what_was_left_out_is_not_held() -> None:
    tree = (ROOT, Entry(b"a", "left out", stat.S_IFREG, content=b"why"), file(b"b"))
    assert held(tree) == (ROOT, file(b"b"))
