"""The hash tree over a tape's events, as RFC 9162 (section 2.1) has it. Pure.

Leaves are hashed with a 0x00 before them and inner nodes with a 0x01, so that neither can pass for
the other. A tree over the first n events proves each of them, and that nothing was left out.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

EMPTY_ROOT: Final = sha256().digest()
"""The root of a tree without leaves (RFC 9162 section 2.1.1)."""


HASH_SIZE: Final = len(EMPTY_ROOT)
"""Bytes of a hash."""


def leaf_hash(entry: bytes) -> bytes:
    """The hash of one stored event."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees."""
    return sha256(b"\x01" + left + right).digest()


class MerkleTree:
    """A tree that grows leaf by leaf and keeps only the roots of its full subtrees."""

    __slots__ = ("_peaks", "size")

    def __init__(self) -> None:
        self._peaks: list[bytes] = []
        self.size = 0

    def add(self, leaf: bytes) -> None:
        """Append the hash of a leaf."""
        self.size += 1
        node, full = leaf, self.size
        while not full & 1:
            node = node_hash(self._peaks.pop(), node)
            full >>= 1
        self._peaks.append(node)

    def root(self) -> bytes:
        """The root over all leaves so far."""
        if not self._peaks:
            return EMPTY_ROOT
        node = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            node = node_hash(peak, node)
        return node


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root over leaf hashes."""
    tree = MerkleTree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The path from leaf `index` (from 0) to the root over `leaves` (RFC 9162 section 2.1.3.1).

    Raises IndexError where there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(index)
    proof: list[bytes] = []
    first, last = 0, len(leaves)
    while last - first > 1:
        middle = first + _split(last - first)
        if index < middle:
            proof.append(root_of(leaves[middle:last]))
            last = middle
        else:
            proof.append(root_of(leaves[first:middle]))
            first = middle
    proof.reverse()
    return proof


def verify_inclusion(
    *, leaf: bytes, index: int, tree_size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Whether `proof` shows that `leaf` is number `index` (from 0) of a tree with that root.

    The steps are those of RFC 9162 section 2.1.3.2.
    """
    if not 0 <= index < tree_size:
        return False
    node, place, last = leaf, index, tree_size - 1
    for sibling in proof:
        if not last:
            return False
        if place & 1 or place == last:
            node = node_hash(sibling, node)
            while not place & 1 and place:
                place >>= 1
                last >>= 1
        else:
            node = node_hash(node, sibling)
        place >>= 1
        last >>= 1
    return not last and node == root


def _split(count: int) -> int:
    """The largest power of two smaller than `count`."""
    return 1 << (count - 1).bit_length() - 1
