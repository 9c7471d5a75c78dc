"""Puts the contents of files on a tape, each once, and never more of one in memory than a piece.

A file is kept as it is or not at all: one that holds a known secret is left out, since what is
restored must be what was there. Knows no clock and no folder.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from rerail.redact.apply import Redactor
from rerail.tape.clean import CleanBytes
from rerail.tape.event import Body
from rerail.tape.trees import Tree, encode_tree
from rerail.tape.writer import TapeWriter
from rerail.workspace.scan import NotKept

FILE_SIZE: Final = 128 << 20
"""Bytes of a file at most, unless it was asked for by name."""

TOTAL_SIZE: Final = 2 << 30
"""Bytes of all contents of a run's snapshots together."""

_PIECE: Final = 1 << 20
_AHEAD: Final = 8 << 20
_LANE: Final = "workspace"


class Packer:
    """What the snapshots of one run put on its tape."""

    def __init__(self, writer: TapeWriter, redactor: Redactor) -> None:
        self._writer = writer
        self._redactor = redactor
        self._kept: set[bytes] = set()
        self._total = 0
        self._lane = ""

    def keep(self, descriptor: int, facts: os.stat_result, asked_for: bool) -> tuple[bytes, int]:
        """Keep an open file; returns its digest and size. Raises NotKept, TapeWriteFailed."""
        refuse_large(facts, asked_for)
        if facts.st_size <= _PIECE:
            content = os.read(descriptor, _PIECE + 1)
            # A short read of a file is its end, except where it grows meanwhile.
            if len(content) <= _PIECE:
                return self._keep_small(content)
        return self._keep_large(descriptor)

    def tree(self, tree: Tree) -> tuple[bytes, int] | None:
        """Keep a tree; returns its digest and size, None where a name in it holds a secret."""
        content = encode_tree(tree)
        clean = self._redactor.file().piece(content)
        if clean is None:
            return None
        digest = self._writer.blob(clean, lane=f"{_LANE} tree")
        return digest, len(content)

    def next_versions(self) -> None:
        """From now on what comes is mostly another version of what has come: it goes together."""
        self._lane = _LANE

    def _keep_small(self, content: bytes) -> tuple[bytes, int]:
        digest = sha256(content).digest()
        if digest not in self._kept:
            clean = self._redactor.file().piece(content)
            if clean is None:
                raise _HOLDS_A_SECRET
            self._give(digest, len(content))
            self._writer.blob(clean, lane=self._lane)
        return digest, len(content)

    def _keep_large(self, descriptor: int) -> tuple[bytes, int]:
        """Look first whether it is there and may be kept, then read it again for the tape."""
        seen, size, check = sha256(), 0, self._redactor.file()
        for piece in _pieces(descriptor):
            if check.piece(piece) is None:
                raise _HOLDS_A_SECRET
            seen.update(piece)
            size += len(piece)
        digest = seen.digest()
        if digest in self._kept:
            return digest, size
        self._give(digest, size)
        kept = self._written(descriptor)
        if kept is None:
            return self._keep_small(b"")
        self._kept.add(kept.digest)
        return kept.digest, kept.size

    def _written(self, descriptor: int) -> Body | None:
        """A body that holds the file, each piece written once the next is known to be clean.

        The file may be another by now: a secret may begin in one piece and end in the next.
        """
        check = self._redactor.file()
        body = self._writer.body(exchange_id=0, side="workspace", exact=False)
        held: CleanBytes | None = None
        for piece in _pieces(descriptor):
            clean = check.piece(piece)
            if clean is None:
                body.drop()
                raise _HOLDS_A_SECRET
            if held is not None:
                body.write(held, at=0)
                self._wait()
            held = clean
        if held is not None:
            body.write(held, at=0)
        return body.finish(framing="none")

    def _give(self, digest: bytes, size: int) -> None:
        if self._total + size > TOTAL_SIZE:
            raise NotKept(f"the snapshots together are larger than {TOTAL_SIZE >> 30} GiB")
        self._total += size
        self._kept.add(digest)
        self._wait()

    def _wait(self) -> None:
        """Let the tape catch up: what passes through the proxy must not wait behind files."""
        if self._writer.backlog > _AHEAD:
            self._writer.flush()


_HOLDS_A_SECRET: Final = NotKept("holds a secret of the environment")


def refuse_large(facts: os.stat_result, asked_for: bool) -> None:
    """Raise NotKept of a file that is too large, unless it was asked for by name."""
    if facts.st_size > FILE_SIZE and not asked_for:
        raise NotKept(f"larger than {FILE_SIZE >> 20} MiB")


def digest_of(descriptor: int, _: os.stat_result, __: bool) -> tuple[bytes, int]:
    """What `Packer.keep` says, for who wants to compare and keeps nothing."""
    seen, size = sha256(), 0
    for piece in _pieces(descriptor):
        seen.update(piece)
        size += len(piece)
    return seen.digest(), size


def _pieces(descriptor: int) -> Iterator[bytes]:
    os.lseek(descriptor, 0, os.SEEK_SET)
    while piece := os.read(descriptor, _PIECE):
        yield piece
