"""Evidence on a tape, by digest: finds its row, undoes its frame, checks the digest. Never writes.

Nothing in a row is believed: sizes and frames have limits, and the digest of what comes out is what
counts.
"""

import sqlite3
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from rerail.tape import form
from rerail.tape.arriving import undo_part
from rerail.tape.chunks import Chunk, decode_chunks
from rerail.tape.damage import Damaged, reading
from rerail.tape.frames import FrameError, FrameReader
from rerail.tape.records import Side

_FRAMES_OPEN: Final = 8
_PARTS_AT_ONCE: Final = 4
_ENDS: Final[tuple[Side, ...]] = ("agent", "origin")
_OF_A_FILE: Final = form.SIDES.index("workspace")
_ROWS_AHEAD: Final = 16
_BYTES_AHEAD: Final = 256 << 10
"""What is fetched of a frame beyond the row that is wanted: most often it is wanted next."""


class BlobRow(Struct, frozen=True):
    """Where a content is: in the parts of a body, or in a frame.

    In a frame, `head` bytes at the beginning and `tail` at the end are those of the blob before.
    """

    id: int
    size: int
    body: int | None
    frame: int | None
    head: int
    tail: int

    @property
    def middle(self) -> int:
        """How many bytes of this blob are in the frame."""
        return self.size - self.head - self.tail


_NOT_ITS_BYTES: Final = "its bytes are not those of its digest"


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part of a body that was arriving, without its data."""

    exchange_id: int
    side: Side
    size: int
    chunks: bytes


@dataclass(slots=True)
class _OpenFrame:
    """A frame undone so far: the rows used, and the content of the last of them.

    `fetched` is the number of the last row whose bytes its reader was given.
    """

    reader: FrameReader
    done: int = 0
    fetched: int = 0
    content: bytes = b""


class Evidence:
    """The `blob` and `part` rows of one tape."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._by_digest: dict[bytes, BlobRow] = {}
        self._in_frame: dict[int, list[BlobRow]] = {}
        self._last = 0
        self._open: OrderedDict[int, _OpenFrame] = OrderedDict()

    def find(self, digest: bytes) -> BlobRow | None:
        """The row of a content, or None. Rows of a tape being written are found as they come."""
        if digest not in self._by_digest:
            self._read_rows()
        return self._by_digest.get(digest)

    def digests(self) -> list[bytes]:
        """All contents, in the order in which they came."""
        self._read_rows()
        return list(self._by_digest)

    def stored_size(self, digests: Iterable[bytes]) -> int:
        """Bytes that the frames of these contents take, with whatever else is in them."""
        rows = [row for digest in digests if (row := self.find(digest)) is not None]
        frames = {row.frame for row in rows if row.frame is not None}
        sql = "SELECT coalesce(sum(length(data)), 0) FROM blob WHERE frame = ?"
        return sum(int(self._fetch(sql, frame)[0][0]) for frame in frames)

    def bodies_in_parts(self) -> set[int]:
        """The numbers of the bodies whose parts are a complete content."""
        self._read_rows()
        return {row.body for row in self._by_digest.values() if row.body is not None}

    def pieces(self, digest: bytes, row: BlobRow) -> Iterator[bytes]:
        """The content, piece by piece; raises Damaged before the last piece of an altered one."""
        if row.frame is not None:
            yield from self._framed(digest, row)
            return
        seen, size, held = sha256(), 0, b""
        for piece in self.parts(row.body) if row.body is not None else ():
            seen.update(piece)
            size += len(piece)
            if held:
                yield held
            held = piece
        if size != row.size or seen.digest() != digest:
            raise Damaged(_NOT_ITS_BYTES)
        if held:
            yield held

    def _framed(self, digest: bytes, row: BlobRow) -> tuple[bytes, ...]:
        """A content that is in a frame, whole; nothing where it is empty."""
        try:
            content = self._from_frame(row)
        except FrameError:
            content = self._from_frame_anew(row)
        if len(content) != row.size or sha256(content).digest() != digest:
            raise Damaged(_NOT_ITS_BYTES)
        return (content,) if content else ()

    def parts(self, body: int) -> Iterator[bytes]:
        """The content of a body's parts, in order. Raises Damaged where one is missing or torn."""
        first = body * form.PARTS_PER_BODY
        upcoming, end = first, first + form.PARTS_PER_BODY
        sql = "SELECT id, size, data FROM part WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        while rows := self._fetch(sql, upcoming, end, _PARTS_AT_ONCE):
            for part_id, size, data in rows:
                if part_id != upcoming:
                    raise Damaged("one of its parts is missing")
                yield _undone_part(size, data)
                upcoming += 1

    def arriving(self) -> dict[int, list[PartRow]]:
        """The parts of the bodies that never became a content, by the body's number."""
        complete = self.bodies_in_parts()
        bodies: dict[int, list[PartRow]] = {}
        for row in self._fetch("SELECT id, exchange_id, side, size, chunks FROM part ORDER BY id"):
            part_id, exchange_id, side, size, chunks = row
            if part_id // form.PARTS_PER_BODY in complete or side == _OF_A_FILE:
                continue  # half a file of a folder that can be read again is nothing
            if not isinstance(exchange_id, int) or not isinstance(size, int):
                raise Damaged("a part of an arriving body is not a part")
            if side not in range(len(_ENDS)) or not isinstance(chunks, bytes):
                raise Damaged("a part of an arriving body is not a part")
            part = PartRow(exchange_id, _ENDS[side], size, chunks)
            bodies.setdefault(part_id // form.PARTS_PER_BODY, []).append(part)
        return bodies

    def _read_rows(self) -> None:
        sql = "SELECT id, digest, size, body, frame, head, tail FROM blob WHERE id > ? ORDER BY id"
        with reading():
            for number, digest, *place in self._connection.execute(sql, (self._last,)):
                self._last = number
                row = _row(number, *place)
                if row is None or not isinstance(digest, bytes):
                    continue
                self._by_digest.setdefault(digest, row)
                if row.frame is not None:
                    self._in_frame.setdefault(row.frame, []).append(row)

    def _from_frame(self, row: BlobRow) -> bytes:
        """Undo the frame up to this row, going on from where it was undone last if possible."""
        number = row.frame
        assert number is not None
        rows = self._in_frame[number]
        place = bisect_right(rows, row.id, key=_number)
        if place > form.BLOBS_PER_FRAME:
            raise Damaged("its frame is longer than allowed")
        frame = self._open.pop(number, None)
        if frame is None or frame.done >= place:
            frame = _OpenFrame(FrameReader())
        wanted = rows[frame.done : place]
        if frame.fetched < row.id:
            first = max(frame.fetched + 1, wanted[0].id)
            frame.fetched = _last_ahead(rows, place)
            for data in self._data(number, first, frame.fetched):
                frame.reader.give(data)
        for step in wanted:
            frame.content = _put_together(frame.content, step, frame.reader)
            frame.done += 1
        self._open[number] = frame
        if len(self._open) > _FRAMES_OPEN:
            self._open.popitem(last=False)
        return frame.content

    def _from_frame_anew(self, row: BlobRow) -> bytes:
        """A frame is packed when it ends, under the eyes of who reads a tape being written."""
        try:
            return self._from_frame(row)
        except FrameError as error:
            raise Damaged(str(error)) from error

    def _data(self, frame: int, first: int, last: int) -> list[bytes]:
        sql = "SELECT data FROM blob WHERE id >= ? AND id <= ? AND frame = ? ORDER BY id"
        return [data for [data] in self._fetch(sql, first, last, frame) if isinstance(data, bytes)]

    def _fetch(self, sql: str, *values: int) -> list[tuple[Any, ...]]:
        with reading():
            return self._connection.execute(sql, values).fetchall()


_number = attrgetter("id")


def _last_ahead(rows: list[BlobRow], place: int) -> int:
    """The number of the last row to fetch where the first `place` are wanted."""
    size = 0
    for row in rows[place : place + _ROWS_AHEAD]:
        size += row.middle
        if size > _BYTES_AHEAD:
            break
        place += 1
    return rows[place - 1].id


def joined_chunks(parts: list[PartRow]) -> list[Chunk]:
    """All chunks; bytes that a part's table does not cover belong to the chunk before."""
    chunks: list[Chunk] = []
    for part in parts:
        try:
            table = decode_chunks(part.chunks)
        except ValueError as error:
            raise Damaged(str(error)) from error
        uncovered = part.size - sum(chunk.size for chunk in table)
        if uncovered < 0 or (uncovered and not chunks):
            raise Damaged("a chunk table does not fit its part")
        if uncovered:
            chunks[-1] = Chunk(chunks[-1].size + uncovered, chunks[-1].at_ns)
        chunks.extend(table)
    return chunks


def _row(
    number: int, size: object, body: object, frame: object, head: object, tail: object
) -> BlobRow | None:
    """A row whose values are what they should be, or None."""
    if not isinstance(size, int) or size < 0:
        return None
    if isinstance(body, int):
        return BlobRow(number, size, body, None, 0, 0)
    if not (isinstance(frame, int) and isinstance(head, int) and isinstance(tail, int)):
        return None
    if size > form.BLOB_SIZE or head < 0 or tail < 0 or head + tail > size or frame > number:
        return None
    return BlobRow(number, size, None, frame, head, tail)


def _put_together(before: bytes, row: BlobRow, reader: FrameReader) -> bytes:
    """A blob's content out of the one before it and of what the frame has that is new."""
    if not row.head and not row.tail:
        return reader.read(row.size)
    if row.head + row.tail > len(before):
        raise Damaged("the blob it builds on is shorter than it says")
    new = reader.read(row.middle)
    return before[: row.head] + new + before[len(before) - row.tail :]


def _undone_part(size: object, data: object) -> bytes:
    if not isinstance(size, int) or not 0 < size <= form.PART_SIZE or not isinstance(data, bytes):
        raise Damaged("one of its parts is not a part")
    try:
        return undo_part(size, data)
    except FrameError as error:
        raise Damaged(str(error)) from error
