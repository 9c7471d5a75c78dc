"""Trees put back: the same folder again, whatever it was, and nothing outside of it."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rerail.clock import file_time_ns
from rerail.tape.trees import Entry, Tree, decode_tree, encode_tree
from rerail.workspace.left_out import LeftOut
from rerail.workspace.pack import digest_of
from rerail.workspace.restore import apply, remove_folder, restore
from rerail.workspace.scan import Scanner
from tests.workspace.conftest import Shelf

NAMES = st.binary(min_size=1, max_size=6).filter(
    lambda name: name not in (b".", b"..", b"runs") and b"/" not in name and b"\0" not in name
)
TIMES = st.integers(min_value=0, max_value=2**60)
MODES = st.sampled_from([0o400, 0o644, 0o755, 0o600, 0o777])
FOLDER_MODES = st.sampled_from([0o700, 0o755, 0o750, 0o1777])
LEAVES = st.one_of(
    st.tuples(st.just("file"), st.binary(max_size=200), MODES, TIMES),
    st.tuples(st.just("link"), st.sampled_from([b"a", b"../b", b"/etc/passwd"]), MODES, TIMES),
)
FOLDERS = st.recursive(
    st.tuples(st.just("folder"), st.dictionaries(NAMES, LEAVES, max_size=3), FOLDER_MODES, TIMES),
    lambda inner: st.tuples(
        st.just("folder"),
        st.dictionaries(NAMES, LEAVES | inner, max_size=4),
        FOLDER_MODES,
        TIMES,
    ),
    max_leaves=10,
)
MANY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def build(place: Path, node: tuple[str, object, int, int]) -> None:
    kind, content, mode, time = node
    if kind == "folder":
        assert isinstance(content, dict)
        place.mkdir(exist_ok=True)
        for name, inner in content.items():
            build(place / os.fsdecode(name), inner)
        place.chmod(mode)
    elif kind == "file":
        assert isinstance(content, bytes)
        place.write_bytes(content)
        place.chmod(mode)
    else:
        assert isinstance(content, bytes)
        place.symlink_to(os.fsdecode(content))
    os.utime(place, ns=(time, time), follow_symlinks=False)


def tree_of(place: Path) -> Tree:
    # Nothing is left out: random names may be anything.
    return Scanner(place, digest_of, LeftOut(include=["*"])).scan(file_time_ns()).tree


def shelved(place: Path, tree: Tree, shelf: Shelf) -> Shelf:
    shelf.take(place, tree)
    return shelf


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Path]:
    """A new empty folder each time."""
    counter = iter(range(10**6))

    def make() -> Path:
        place = tmp_path / f"{next(counter)}"
        place.mkdir()
        return place

    return make


@MANY
@given(FOLDERS)
def test_a_restored_folder_is_the_same(
    fresh: Callable[[], Path], node: tuple[str, object, int, int]
) -> None:
    source, target = fresh(), fresh()
    build(source, node)
    tree = decode_tree(encode_tree(tree_of(source)))
    restore(tree, target, shelved(source, tree, Shelf()))
    assert tree_of(target) == tree


@MANY
@given(FOLDERS, FOLDERS)
def test_the_difference_of_two_trees_makes_one_of_the_other(
    fresh: Callable[[], Path],
    one: tuple[str, object, int, int],
    other: tuple[str, object, int, int],
) -> None:
    first, second, target = fresh(), fresh(), fresh()
    build(first, one)
    build(second, other)
    before, after = tree_of(first), tree_of(second)
    shelf = shelved(second, after, shelved(first, before, Shelf()))
    restore(before, target, shelf)
    apply(before, after, target, shelf)
    assert tree_of(target) == after


DIGEST = b"d" * 32
ROOT = Entry(b"", "folder", stat.S_IFDIR | 0o700)


def file(path: bytes, mode: int = 0o644) -> Entry:
    return Entry(path, "file", stat.S_IFREG | mode, 3, 1, DIGEST)


def contents(_: bytes) -> list[bytes]:
    return [b"new"]


def test_no_program_is_made_that_runs_as_somebody_else(fresh: Callable[[], Path]) -> None:
    place = fresh()
    restore((ROOT, file(b"a", 0o6755)), place, contents)
    assert stat.S_IMODE((place / "a").stat().st_mode) == 0o755


def test_a_link_in_the_way_is_not_followed(fresh: Callable[[], Path]) -> None:
    place, outside = fresh(), fresh()
    (outside / "victim").write_text("untouched")
    (place / "sub").symlink_to(outside)
    (place / "a").symlink_to(outside / "victim")
    folder = Entry(b"sub", "folder", stat.S_IFDIR | 0o755)
    apply((ROOT, folder), (ROOT, file(b"a"), folder, file(b"sub/victim")), place, contents)
    assert (place / "sub" / "victim").read_text() == "new"
    assert not (place / "sub").is_symlink()
    assert (outside / "victim").read_text() == "untouched"
    assert not (place / "a").is_symlink()
    assert (place / "a").read_text() == "new"


def test_removing_a_folder_removes_no_link_s_target(fresh: Callable[[], Path]) -> None:
    place, outside = fresh(), fresh()
    (outside / "victim").write_text("untouched")
    (place / "sub").mkdir()
    (place / "sub" / "more").mkdir(mode=0o500)
    (place / "sub" / "out").symlink_to(outside)
    folder = Entry(b"sub", "folder", stat.S_IFDIR | 0o755)
    apply((ROOT, folder), (ROOT,), place, contents)
    assert not (place / "sub").exists()
    assert (outside / "victim").exists()


def test_what_was_left_out_is_not_touched(fresh: Callable[[], Path]) -> None:
    place = fresh()
    (place / "node_modules").mkdir()
    (place / "node_modules" / "x").write_text("x")
    left = Entry(b"node_modules", "left out", stat.S_IFDIR | 0o755, 0, 1, b"can be made again")
    apply((ROOT, left), (ROOT, file(b"a")), place, contents)
    assert (place / "node_modules" / "x").exists()
    assert (place / "a").exists()


def test_a_folder_that_was_left_out_is_there_empty(fresh: Callable[[], Path]) -> None:
    place = fresh()
    left = Entry(b"node_modules", "left out", stat.S_IFDIR | 0o755, 0, 10**18, b"why")
    restore((ROOT, left), place, contents)
    assert list((place / "node_modules").iterdir()) == []
    assert (place / "node_modules").stat().st_mtime_ns == 10**18


def deep(place: Path, levels: int) -> None:
    """Folders in folders, deeper than any path can say."""
    descriptor = os.open(place, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", 0o700, dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        with os.fdopen(os.open("f", os.O_CREAT, 0o600, dir_fd=below)):
            os.fchmod(descriptor, 0o500)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)


def test_a_folder_is_removed_however_deep_it_is(fresh: Callable[[], Path]) -> None:
    place = fresh()
    for name in ("0", "1", "2"):
        (place / "in" / name / "3" / "4").mkdir(parents=True)
    deep(place / "in", 3000)
    remove_folder(place / "in")
    assert not (place / "in").exists()


def test_a_deep_tree_is_restored(fresh: Callable[[], Path]) -> None:
    place = fresh()
    paths = [b"/".join([b"d"] * depth) for depth in range(601)]
    tree = tuple(Entry(path, "folder", stat.S_IFDIR | 0o755) for path in paths)
    restore(decode_tree(encode_tree(tree)), place, Shelf())
    assert (place / os.fsdecode(paths[-1])).is_dir()
    remove_folder(place)
