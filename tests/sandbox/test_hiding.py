"""Hiding a place by allowing all others: what is listed, and what the kernel makes of it."""

import os
from pathlib import Path

import pytest

from rerail.sandbox import kernel, landlock
from rerail.sandbox.hiding import all_but


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """a/{b/{c,secret},d}, link → a/b."""
    for name in ("a/b/c", "a/b/secret", "a/d"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    return tmp_path


def allowed(places: list[Path], file: Path) -> bool:
    return any(place == file or place in file.parents for place in places)


def test_all_but_one_file(tree: Path) -> None:
    places = all_but([tree / "a/b/secret"])
    assert not allowed(places, tree / "a/b/secret")
    assert allowed(places, tree / "a/b/c")
    assert allowed(places, tree / "a/d")
    assert allowed(places, Path("/usr"))
    assert tree / "link" not in places


def test_the_innermost_decides(tree: Path) -> None:
    places = all_but([tree, tree / "a/b/secret"], [tree / "a"])
    assert allowed(places, tree / "a/d")
    assert allowed(places, tree / "a/b/c")
    assert not allowed(places, tree / "a/b/secret")
    assert not allowed(places, tree / "link")


def test_of_one_place_hiding_counts(tree: Path) -> None:
    assert not allowed(all_but([tree / "a"], [tree / "a"]), tree / "a/d")


def test_a_place_named_by_a_link_is_hidden_where_it_is(tree: Path) -> None:
    assert not allowed(all_but([tree / "link"]), tree / "a/b/c")


def test_nothing_hidden_is_everything() -> None:
    assert all_but([]) == [Path("/")]


@pytest.mark.skipif(
    not kernel.is_linux() or not landlock.version(), reason="no Landlock on this machine"
)
def test_the_kernel_hides_it(tree: Path) -> None:
    secret, pid = tree / "a/b/secret", os.getpid()
    places = all_but([secret])
    child = os.fork()
    if child == 0:
        seen = 1
        try:
            landlock.restrict(None, [tree / "a" / "b"], places)
            (tree / "a/b/new").write_text("x")
            assert (tree / "a/b/c").read_text() == "a/b/c"
            for forbidden in (secret, tree / "link" / "secret", Path(f"/proc/{pid}/mem")):
                with pytest.raises(PermissionError):
                    forbidden.open("rb").read(1)
            with pytest.raises(PermissionError):
                (tree / "a/d").write_text("x")
            with pytest.raises(OSError):
                os.link(tree / "a/d", tree / "a/b/again")
            seen = 0
        finally:
            os._exit(seen)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
