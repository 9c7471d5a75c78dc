"""Which links lead out of a tree, by the tree alone."""

import stat

import pytest

from rerail.tape.links import new_ways_out
from rerail.tape.trees import Entry, Tree


def tree(**links: str) -> Tree:
    """A folder with `deep/down` in it, and these links; `__` in a name stands for a slash."""
    folders = [Entry(path, "folder", stat.S_IFDIR) for path in (b"", b"deep", b"deep/down")]
    made = [
        Entry(name.replace("__", "/").encode(), "link", stat.S_IFLNK, content=to.encode())
        for name, to in links.items()
    ]
    return tuple(sorted([*folders, *made], key=lambda entry: entry.path))


@pytest.mark.parametrize(
    ("links", "leaving"),
    [
        ({"a": "b"}, []),
        ({"a": "deep/../b"}, []),
        ({"deep__a": "../b"}, []),
        ({"a": "deep/down/../../b"}, []),
        ({"a": "/etc/passwd"}, ["a"]),
        ({"a": "../b"}, ["a"]),
        ({"deep__a": "../../b"}, ["deep/a"]),
        ({"deep__down__s": "../..", "deep__down__l": "s/../f"}, ["deep/down/l"]),
        ({"s": "deep/down", "l": "s/../../f"}, []),
        ({"a": "b", "b": "/x"}, ["a", "b"]),
        ({"a": "a"}, ["a"]),
    ],
)
def test_a_link_is_followed_as_the_system_does(links: dict[str, str], leaving: list[str]) -> None:
    assert new_ways_out(tree(), tree(**links)) == leaving


def test_a_way_out_that_was_there_is_the_owners_own() -> None:
    assert new_ways_out(tree(a="/usr/bin"), tree(a="/usr/bin", b="/etc")) == ["b"]
    assert new_ways_out(tree(a="/usr/bin"), tree(a="/etc")) == ["a"]
    # The link stays as it was, and what it goes through does not.
    assert new_ways_out(tree(a="b/c"), tree(a="b/c", b="/etc")) == ["a", "b"]
