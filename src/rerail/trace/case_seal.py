"""The seal of a case: behind each record a line with the root over all records up to it. Pure.

The chain in the records shows a change of any but the last; these lines show that the last one was
changed, or is gone. They stand in a file that only grows, so that a later record hides nothing.
With a key of the user's, a line also shows that it was written by that user on that machine.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rerail.tape.merkle import MerkleTree, leaf_hash

SEAL: Final = "seal.jsonl"
"""The file in the case's folder."""


@dataclass(frozen=True, slots=True)
class Line:
    """The root over so many records, and a keyed hash over it, empty without a key."""

    records: int
    root: str
    witness: str = ""

    def written(self) -> bytes:
        """As it stands in the file."""
        document = {"records": self.records, "root": self.root, "witness": self.witness}
        return (json.dumps(document) + "\n").encode()


def seal_key(witness_key: bytes) -> bytes:
    """The key for seals, out of the user's key for whole tapes."""
    return hashlib.sha256(b"rerail case seal\0" + witness_key).digest()


def sealed(digests: Sequence[str], key: bytes) -> Line:
    """The line behind the last of these records, given the SHA-256 of each file."""
    root = list(_roots(digests))[-1]
    return Line(len(digests), root, _witness(len(digests), root, key) if key else "")


def read_seal(content: bytes) -> list[Line]:
    """Its lines; one that cannot be read is of no record."""
    found = []
    for line in content.splitlines():
        try:
            document = json.loads(line)
            found.append(
                Line(int(document["records"]), str(document["root"]), str(document["witness"]))
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            found.append(Line(0, ""))
    return found


def unlike(lines: Sequence[Line], digests: Sequence[str]) -> list[str]:
    """What of the records is not as it was sealed, in words; nothing where all is."""
    if not lines:
        return ["it has no seal: whether its last record is the last, nobody can tell"]
    if any(line.records < 1 for line in lines):
        return ["a line of its seal cannot be read"]
    known = {line.records for line in lines}
    for number, root in enumerate(_roots(digests), 1):
        if number not in known:
            return [f"record {number} was never sealed: who wrote it did not come to the end"]
        if any(line.root != root for line in lines if line.records == number):
            return [f"record {number} is not the one that was sealed"]
    if max(known) > len(digests):
        return [f"record {len(digests) + 1} is not there any more: {max(known)} were sealed"]
    return []


def sealed_elsewhere(lines: Sequence[Line], key: bytes) -> list[int]:
    """The records whose seals were not made with this key: by another user, or another machine."""
    return [
        line.records
        for line in lines
        if not hmac.compare_digest(line.witness, _witness(line.records, line.root, key))
    ]


def _roots(digests: Sequence[str]) -> Iterator[str]:
    tree = MerkleTree()
    for digest in digests:
        tree.add(leaf_hash(bytes.fromhex(digest)))
        yield f"sha256:{tree.root().hex()}"


def _witness(records: int, root: str, key: bytes) -> str:
    return hmac.digest(key, f"{records}\0{root}".encode(), "sha256").hex()
