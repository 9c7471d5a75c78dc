"""The hash tree, against a plain reading of RFC 9162."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.tape.merkle import (
    EMPTY_ROOT,
    MerkleTree,
    inclusion_proof,
    leaf_hash,
    root_of,
    verify_inclusion,
)

ENTRIES = st.lists(st.binary(max_size=8), max_size=40)


def plain_root(entries: list[bytes]) -> bytes:
    """MTH of RFC 9162 section 2.1.1, as it is written there."""
    if not entries:
        return sha256(b"").digest()
    if len(entries) == 1:
        return sha256(b"\x00" + entries[0]).digest()
    split = 1
    while split * 2 < len(entries):
        split *= 2
    inner = b"\x01" + plain_root(entries[:split]) + plain_root(entries[split:])
    return sha256(inner).digest()


@given(ENTRIES)
def test_the_root_is_that_of_the_standard_at_every_size(entries: list[bytes]) -> None:
    tree = MerkleTree()
    assert tree.root() == EMPTY_ROOT
    for count, entry in enumerate(entries, 1):
        tree.add(leaf_hash(entry))
        assert tree.root() == plain_root(entries[:count])
        assert tree.size == count


@given(ENTRIES.filter(bool), st.data())
def test_every_leaf_has_a_proof_that_holds(entries: list[bytes], data: st.DataObject) -> None:
    leaves = [leaf_hash(entry) for entry in entries]
    index = data.draw(st.integers(0, len(leaves) - 1))
    proof, root = inclusion_proof(leaves, index), root_of(leaves)
    leaf, size = leaves[index], len(leaves)
    assert verify_inclusion(leaf=leaf, index=index, tree_size=size, proof=proof, root=root)


@given(ENTRIES.filter(bool), st.data())
def test_a_proof_holds_for_nothing_else(entries: list[bytes], data: st.DataObject) -> None:
    leaves = [leaf_hash(b"%d " % number + entry) for number, entry in enumerate(entries)]
    index = data.draw(st.integers(0, len(leaves) - 1))
    proof, root, size = inclusion_proof(leaves, index), root_of(leaves), len(leaves)

    def holds(**changed: object) -> bool:
        claim = {"leaf": leaves[index], "index": index, "tree_size": size, "proof": proof}
        return verify_inclusion(**{**claim, "root": root, **changed})  # type: ignore[arg-type]

    assert not holds(leaf=leaf_hash(b"other"))
    assert not holds(root=leaf_hash(b"other"))
    assert not holds(proof=[*proof, leaf_hash(b"other")])
    assert not any(holds(index=other) for other in range(-1, size + 2) if other != index)
    if proof:
        assert not holds(proof=proof[1:])
        assert not holds(proof=[leaf_hash(b"other"), *proof[1:]])


@pytest.mark.parametrize("index", [-1, 3])
def test_there_is_no_proof_of_a_leaf_that_is_not_there(index: int) -> None:
    with pytest.raises(IndexError):
        inclusion_proof([leaf_hash(b"x")] * 3, index)
