"""What two bodies have in common at their ends."""

from hypothesis import given
from hypothesis import strategies as st

from rerail.tape.likeness import common_head, common_tail


def plain(before: bytes, after: bytes) -> int:
    """The common prefix, counted byte by byte."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(before), len(after)))


ALIKE = st.text("ab", max_size=40).map(str.encode)


@given(ALIKE, ALIKE)
def test_the_head_is_the_common_prefix(before: bytes, after: bytes) -> None:
    assert common_head(before, after) == plain(before, after)


@given(ALIKE, ALIKE)
def test_the_tail_is_the_common_suffix_behind_the_head(before: bytes, after: bytes) -> None:
    head = common_head(before, after)
    expected = plain(before[head:][::-1], after[head:][::-1])
    assert common_tail(before, after, head=head) == expected


@given(ALIKE, ALIKE, ALIKE)
def test_head_and_tail_give_the_body_back(before: bytes, after: bytes, shared: bytes) -> None:
    before, after = shared + before + shared, shared + after + shared
    head = common_head(before, after)
    tail = common_tail(before, after, head=head)
    middle = after[head : len(after) - tail]
    assert before[:head] + middle + before[len(before) - tail :] == after
