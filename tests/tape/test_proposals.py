"""A proposal: the same change has the same name, another has another."""

import stat
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rerail.tape.proposals import (
    decode_proposal,
    digest_of_tree,
    encode_proposal,
    proposal,
    ref_of,
    without_times,
)
from rerail.tape.trees import Entry, Tree

ROOT = Entry(b"", "folder", stat.S_IFDIR | 0o755, 0, 5)


def file(path: bytes, content: bytes, *, mode: int = 0o644, mtime: int = 7) -> Entry:
    digest = sha256(content).digest()
    return Entry(path, "file", stat.S_IFREG | mode, len(content), mtime, digest)


def tree(*entries: Entry) -> Tree:
    return (ROOT, *sorted(entries, key=lambda entry: entry.path))


BEFORE = tree(file(b"a", b"one"), file(b"b", b"two"))


def test_a_change_says_what_is_made_of_what() -> None:
    link = Entry(b"c", "link", stat.S_IFLNK | 0o777, 0, 9, b"a")
    made = proposal(BEFORE, tree(file(b"a", b"other"), link))
    changed, gone, added = made.changes
    assert (changed.path, changed.old, changed.new) == (
        b"a", sha256(b"one").digest(), sha256(b"other").digest()
    )  # fmt: skip
    assert (gone.path, gone.mode, gone.new) == (b"b", 0, b"")
    assert (added.path, added.old, added.new) == (b"c", b"", sha256(b"a").digest())
    assert stat.S_ISLNK(added.mode)


def test_a_mode_is_a_change() -> None:
    [change] = proposal(BEFORE, tree(file(b"a", b"one", mode=0o755), BEFORE[2])).changes
    assert change.old == change.new
    assert stat.S_IMODE(change.mode) == 0o755


def test_times_are_none() -> None:
    later = tuple(replace(entry, mtime_ns=99) for entry in BEFORE)
    assert proposal(BEFORE, later).changes == ()
    assert proposal(later, BEFORE).base == proposal(BEFORE, BEFORE).base


def test_what_is_left_out_is_no_part_of_it() -> None:
    secret = Entry(b".env", "left out", stat.S_IFREG | 0o600, content=b"may hold credentials")
    assert proposal(BEFORE, tree(*BEFORE[1:], secret)).changes == ()


def test_the_base_is_a_tree_that_can_be_used() -> None:
    made = proposal(BEFORE, BEFORE)
    assert made.base == digest_of_tree(without_times(BEFORE))


FILES = st.dictionaries(st.sampled_from([b"a", b"b", b"c", b"d"]), st.binary(max_size=3))


@given(FILES, FILES, FILES)
def test_another_change_has_another_name(
    before: dict[bytes, bytes], one: dict[bytes, bytes], other: dict[bytes, bytes]
) -> None:
    trees = [tree(*(file(path, data) for path, data in given.items())) for given in (one, other)]
    first = tree(*(file(path, data) for path, data in before.items()))
    refs = [ref_of(proposal(first, after)) for after in trees]
    assert (refs[0] == refs[1]) == (one == other)


@given(FILES, FILES)
def test_it_comes_back_as_it_was(before: dict[bytes, bytes], after: dict[bytes, bytes]) -> None:
    one, other = (
        tree(*(file(path, data) for path, data in given.items())) for given in (before, after)
    )
    made = proposal(one, other)
    assert decode_proposal(encode_proposal(made)) == made


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x92\xa1a\x90", b"\xc1" * 9])
def test_other_bytes_are_no_proposal(data: bytes) -> None:
    with pytest.raises(ValueError, match="no proposal"):
        decode_proposal(data)
