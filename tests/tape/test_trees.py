"""Trees as contents: the same bytes for the same folder, and none that leads out of one."""

import stat

import msgspec
import pytest

from rerail.tape.trees import Entry, Kind, Tree, decode_tree, encode_tree

FILE, FOLDER, LINK = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755, stat.S_IFLNK | 0o777
DIGEST = b"d" * 32


def entry(path: bytes, kind: Kind = "file", content: bytes = DIGEST) -> Entry:
    mode = {"file": FILE, "folder": FOLDER, "link": LINK}.get(kind, FILE)
    return Entry(path, kind, mode, 3, 10**18, b"" if kind == "folder" else content)


ROOT = entry(b"", "folder")


def test_a_tree_comes_back_as_it_was() -> None:
    tree: Tree = (
        ROOT,
        entry(b".\n", "folder"),
        entry(b".env", "left out", b"may hold credentials"),
        entry(b"a b", "link", b"../elsewhere"),
        entry(b"src", "folder"),
        entry(b"src-old"),
        entry(b"src/\xff.py"),
    )
    assert decode_tree(encode_tree(tree)) == tree


@pytest.mark.parametrize(
    "paths",
    [
        [b"../x"],
        [b".."],
        [b"."],
        [b"/etc/passwd"],
        [b"a//b"],
        [b"a/"],
        [b"a\0b"],
        [b"a/b"],
        [b"b", b"a"],
        [b"a", b"a"],
    ],
    ids=repr,
)
def test_a_path_that_leads_astray_is_refused(paths: list[bytes]) -> None:
    with pytest.raises(ValueError):
        decode_tree(encode_tree((ROOT, *(entry(path) for path in paths))))


@pytest.mark.parametrize("kind", ["link", "file", "left out"])
def test_nothing_is_below_what_is_no_folder(kind: Kind) -> None:
    tree = (ROOT, entry(b"a", kind), entry(b"a/b"))
    with pytest.raises(ValueError, match="below something that is no folder"):
        decode_tree(encode_tree(tree))


@pytest.mark.parametrize(
    "tree",
    [(), (entry(b"a"),), (entry(b"", "link"),), (ROOT, entry(b"a", content=b"short"))],
    ids=["empty", "no folder", "a link", "no digest"],
)
def test_a_tree_without_what_it_needs_is_refused(tree: Tree) -> None:
    with pytest.raises(ValueError):
        decode_tree(encode_tree(tree))


@pytest.mark.parametrize("data", [b"", b"\xc0", msgspec.msgpack.encode({"a": 1}), b"\x91\x91\x01"])
def test_what_is_no_tree_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no tree"):
        decode_tree(data)


@pytest.mark.parametrize(
    "odd",
    [
        Entry(b"a", "file", 1 << 40, 3, 0, DIGEST),
        Entry(b"a", "folder", -1),
        Entry(b"a", "file", FILE, 3, 1 << 63, DIGEST),
        Entry(b"a", "link", LINK, 0, 0, b"x\0y"),
    ],
)
def test_what_no_system_could_be_told_is_refused(odd: Entry) -> None:
    with pytest.raises(ValueError, match="'a'"):
        decode_tree(msgspec.msgpack.encode((ROOT, odd)))
    with pytest.raises(ValueError, match="the mode"):
        decode_tree(msgspec.msgpack.encode((Entry(b"", "folder", 1 << 32),)))


def test_a_path_deeper_than_any_is_refused() -> None:
    names = [b"d"] * 2050
    deep = [entry(b"/".join(names[:depth]), "folder") for depth in range(1, len(names))]
    with pytest.raises(ValueError, match="deeper"):
        decode_tree(encode_tree((ROOT, *deep)))
    assert decode_tree(encode_tree((ROOT, *deep[:2000])))
