"""A proposal: what changed from one tree to another, as one content. Knows no file system.

It says what to make of which base, and nothing of when or by whom: the same change of the same
files has the same digest (`proposal_ref`) wherever it is made. Checker and applier are given trees
made from it, and nothing else.
"""

from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rerail.tape.trees import Entry, Tree, encode_tree


class Change(Struct, frozen=True, array_like=True):
    """One path: the whole `st_mode` afterwards (0: it is gone), its content before and after.

    A content is the SHA-256 of a file, or of the target of a link; empty for a folder, and where
    there is nothing.
    """

    path: bytes
    mode: int
    old: bytes = b""
    new: bytes = b""


class Proposal(Struct, frozen=True, array_like=True):
    """The digest of the tree it starts from, and the changes in the order of their paths."""

    base: bytes
    changes: tuple[Change, ...]


_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")
_DECODER: Final = msgspec.msgpack.Decoder(Proposal)


def without_times(tree: Tree) -> Tree:
    """A tree as proposals count it: what it holds, without times; sizes and modes stay."""
    held = (entry for entry in tree if entry.kind != "left out")
    return tuple(
        replace(entry, mtime_ns=0, size=entry.size if entry.kind == "file" else 0) for entry in held
    )


def digest_of_tree(tree: Tree) -> bytes:
    """The SHA-256 of a tree's content."""
    return sha256(encode_tree(tree)).digest()


def proposal(before: Tree, after: Tree) -> Proposal:
    """What makes `after` of `before`; both are taken without times."""
    before, after = without_times(before), without_times(after)
    old = {entry.path: entry for entry in before}
    new = {entry.path: entry for entry in after}
    changes = (
        Change(path, new[path].mode if path in new else 0, _said(old, path), _said(new, path))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    )
    return Proposal(digest_of_tree(before), tuple(changes))


def encode_proposal(made: Proposal) -> bytes:
    """Its content; the SHA-256 of it is its `proposal_ref`."""
    return _ENCODER.encode(made)


def decode_proposal(data: bytes) -> Proposal:
    """The proposal that `data` holds. Raises ValueError where it holds none."""
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("it is no proposal") from error


def ref_of(made: Proposal) -> bytes:
    """Its `proposal_ref`."""
    return sha256(encode_proposal(made)).digest()


def _said(tree: dict[bytes, Entry], path: bytes) -> bytes:
    entry = tree.get(path)
    if entry is None or entry.kind == "folder":
        return b""
    return sha256(entry.content).digest() if entry.kind == "link" else entry.content
