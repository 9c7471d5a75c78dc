"""Evidence on a tape, by digest: finds its row, undoes its frame, checks the digest. Never writes.

Nothing in a row is believed: sizes and chains have limits, and the digest of what comes out is what
counts.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from rerail.tape import form
from rerail.tape.arriving import undo_part
from rerail.tape.frames import FrameError, FrameReader

_FRAMES_OPEN: Final = 8
_PARTS_AT_ONCE: Final = 4


class Damaged(ValueError):
    """What a row holds is not what it says. The message is for people."""


@dataclass(frozen=True, slots=True)
class BlobRow:
    """Where a content is; `base` is the blob before it in its frame, or the body in whose parts."""

    id: int
    size: int
    codec: int
    base: int | None


class Evidence:
    """The `blob` and `part` rows of one tape."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows: dict[int, BlobRow] = {}
        self._by_digest: dict[bytes, int] = {}
        self._last = 0
        self._frames: OrderedDict[int, FrameReader] = OrderedDict()

    def find(self, digest: bytes) -> BlobRow | None:
        """The row of a content, or None. Rows of a tape being written are found as they come."""
        if digest not in self._by_digest:
            self._read_rows()
        found = self._by_digest.get(digest)
        return None if found is None else self._rows[found]

    def digests(self) -> list[bytes]:
        """All contents, in the order in which they came."""
        self._read_rows()
        return list(self._by_digest)

    def bodies_in_parts(self) -> set[int]:
        """The numbers of the bodies whose parts are a complete content."""
        self._read_rows()
        return {row.base or 0 for row in self._rows.values() if row.codec == form.PARTS}

    def pieces(self, digest: bytes, row: BlobRow) -> Iterator[bytes]:
        """The content, piece by piece; raises Damaged at the latest at its end."""
        seen, size = sha256(), 0
        for piece in self._raw_pieces(row):
            seen.update(piece)
            size += len(piece)
            yield piece
        if size != row.size or seen.digest() != digest:
            raise Damaged("its bytes are not those of its digest")

    def parts(self, body: int) -> Iterator[bytes]:
        """The content of a body's parts, in order. Raises Damaged where one is missing or torn."""
        first = body * form.PARTS_PER_BODY
        upcoming, end = first, first + form.PARTS_PER_BODY
        sql = "SELECT id, size, codec, data FROM part WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        while rows := self._connection.execute(sql, (upcoming, end, _PARTS_AT_ONCE)).fetchall():
            for part_id, size, codec, data in rows:
                if part_id != upcoming:
                    raise Damaged("one of its parts is missing")
                yield _undone_part(size, codec, data)
                upcoming += 1

    def _read_rows(self) -> None:
        sql = "SELECT id, digest, size, codec, base FROM blob WHERE id > ? ORDER BY id"
        for blob_id, digest, size, codec, base in self._connection.execute(sql, (self._last,)):
            self._last = blob_id
            if isinstance(digest, bytes) and isinstance(size, int) and _is_link(base):
                self._rows[blob_id] = BlobRow(blob_id, size, codec, base)
                self._by_digest.setdefault(digest, blob_id)

    def _raw_pieces(self, row: BlobRow) -> Iterator[bytes]:
        if row.codec == form.PARTS and row.base is not None:
            yield from self.parts(row.base)
            return
        if not 0 <= row.size <= form.BLOB_SIZE:
            raise Damaged("its size is out of bounds")
        if row.codec == form.RAW:
            yield self._data(row.id)
        elif row.codec == form.ZSTD:
            yield self._from_frame(row)
        else:
            raise Damaged("its codec is unknown")

    def _from_frame(self, row: BlobRow) -> bytes:
        """Undo the frame up to this row, going on from where it was undone last if possible."""
        chain, reader = [row], None
        while (base := chain[-1].base) is not None:
            reader = self._frames.pop(base, None)
            if reader is not None:
                break
            before = self._rows.get(base)
            if before is None or before.id >= chain[-1].id or len(chain) >= form.LINKS_PER_FRAME:
                raise Damaged("the blob it builds on is missing")
            chain.append(before)
        reader = reader or FrameReader()
        content = b""
        for link in reversed(chain):
            content = self._undo(reader, link)
        self._frames[row.id] = reader
        if len(self._frames) > _FRAMES_OPEN:
            self._frames.popitem(last=False)
        return content

    def _undo(self, reader: FrameReader, row: BlobRow) -> bytes:
        if not 0 <= row.size <= form.BLOB_SIZE:
            raise Damaged("the size of a blob it builds on is out of bounds")
        try:
            return reader.piece(self._data(row.id), row.size)
        except FrameError as error:
            raise Damaged(str(error)) from error

    def _data(self, blob_id: int) -> bytes:
        sql = "SELECT data FROM blob WHERE id = ?"
        found = self._connection.execute(sql, (blob_id,)).fetchone()
        if found is None or not isinstance(found[0], bytes):
            raise Damaged("its data is missing")
        return found[0]


def _is_link(base: object) -> bool:
    return base is None or isinstance(base, int)


def _undone_part(size: object, codec: object, data: object) -> bytes:
    if not isinstance(size, int) or not 0 < size <= form.PART_SIZE or not isinstance(data, bytes):
        raise Damaged("one of its parts is not a part")
    if codec not in (form.RAW, form.ZSTD):
        raise Damaged("one of its parts has an unknown codec")
    try:
        return undo_part(size, form.ZSTD if codec == form.ZSTD else form.RAW, data)
    except FrameError as error:
        raise Damaged(str(error)) from error
