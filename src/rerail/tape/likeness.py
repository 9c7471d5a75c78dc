"""What two bodies have in common at their beginning and at their end. Pure.

An agent sends its whole history again each turn: most of a request stands in the one before, up to
the new messages and after them. Comparing slices is left to C: a search by halves, not by bytes.
"""


def common_head(before: bytes, after: bytes) -> int:
    """How many bytes at the beginning are the same in both."""
    same, end = 0, min(len(before), len(after))
    while same < end:
        middle = (same + end + 1) // 2
        if before[same:middle] == after[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same


def common_tail(before: bytes, after: bytes, *, head: int = 0) -> int:
    """How many bytes at the end are the same in both, not counting the first `head` of each."""
    same, end = 0, min(len(before), len(after)) - head
    while same < end:
        middle = (same + end + 1) // 2
        one = before[len(before) - middle : len(before) - same]
        if one == after[len(after) - middle : len(after) - same]:
            same = middle
        else:
            end = middle - 1
    return same
