"""Bodies that are still arriving: kept as parts, so that a crash leaves what had come.

A body that turns out small is folded into one blob and its parts are dropped; one that arrives
whole between two commits never has parts; a large one stays in its parts. Knows no queue, no clock:
how long a piece has waited is read from the times that came with it.
"""

from collections import deque
from typing import Final

from msgspec import Struct, field

from rerail.tape import form
from rerail.tape.blobs import BlobKeeper
from rerail.tape.chunks import ChunkTable
from rerail.tape.frames import compressed, undo
from rerail.tape.storage import Storage

_WAIT_NS: Final = 40_000_000
_WAITING_BYTES: Final = 8 << 20
_ENOUGH_FOR_A_PART: Final = 256 << 10
_WORTH_TRYING: Final = 512


class _Body(Struct):
    number: int
    exchange_id: int
    side: int
    lane: str
    waiting: list[bytes] = field(default_factory=list)
    came: list[tuple[int, bool]] = field(default_factory=list)
    waiting_size: int = 0
    parts: int = 0
    size: int = 0


class ArrivingBodies:
    """All bodies that have begun and not ended.

    Of what waits, `came` says when each piece came and whether it continued a chunk.
    """

    def __init__(self, storage: Storage, blobs: BlobKeeper) -> None:
        self._storage = storage
        self._blobs = blobs
        self._bodies: dict[int, _Body] = {}
        self._waiting: dict[int, _Body] = {}
        self._waiting_size = 0
        self._ended: deque[tuple[int, bytes]] = deque()
        self.latest = 0

    def begin(self, number: int, exchange_id: int, side: form.Giver, lane: str) -> None:
        self._bodies[number] = _Body(number, exchange_id, form.SIDES.index(side), lane)

    def first(
        self, number: int, exchange_id: int, side: form.Giver, lane: str, data: bytes, at: int
    ) -> None:
        """A body begins with its first piece."""
        self.begin(number, exchange_id, side, lane)
        self.add(number, data, at, False)

    def add(self, number: int, data: bytes, at: int, continues: bool) -> None:
        """A piece that came at `at` (nanoseconds since the run began)."""
        if at > self.latest:
            self.latest = at
        body, size = self._bodies[number], len(data)
        if not body.waiting:
            self._waiting[number] = body
        body.waiting.append(data)
        body.came.append((at, continues))
        body.waiting_size += size
        body.size += size
        self._waiting_size += size
        if body.waiting_size >= _ENOUGH_FOR_A_PART:
            self._write_part(body)

    def end(self, number: int, digest: bytes) -> None:
        """The body is complete; it goes on as one that is arriving until it is settled."""
        self._ended.append((number, digest))

    def settle(self) -> None:
        """Make contents of the bodies that have ended: together with the event that names them.

        If it were done before, a crash in between would leave a content that nothing tells of.
        """
        while self._ended:
            self._settle(*self._ended.popleft())

    def _settle(self, number: int, digest: bytes) -> None:
        """The content goes to a blob, or its parts become one."""
        body = self._bodies.pop(number)
        if self._blobs.knows(digest):
            self._forget_waiting(body)
        elif body.size > form.BLOB_SIZE:
            self._write_part(body)
            self._blobs.keep_parts(digest, body.size, number)
            return
        else:
            self._blobs.keep(digest, self._content(body), body.lane)
            self._forget_waiting(body)
        if body.parts:
            self._storage.drop_parts(number)

    def drop(self, number: int) -> None:
        """Forget a body as if it had never begun."""
        body = self._bodies.pop(number)
        self._forget_waiting(body)
        self._storage.drop_parts(number)

    def write_waiting(self, *, everything: bool) -> None:
        """Write what waits as parts: everything, or what came well before the latest piece."""
        everything = everything or self._waiting_size > _WAITING_BYTES
        for body in list(self._waiting.values()):
            if everything or self.latest - body.came[0][0] >= _WAIT_NS:
                self._write_part(body)

    def _content(self, body: _Body) -> bytes:
        rows = self._storage.parts(body.number) if body.parts else []
        return b"".join([undo_part(*row) for row in rows] + body.waiting)

    def _write_part(self, body: _Body) -> None:
        if not body.waiting:
            return
        content = b"".join(body.waiting)
        self._storage.add_part(
            body.number * form.PARTS_PER_BODY + body.parts,
            body.exchange_id,
            body.side,
            len(content),
            _table(body),
            _part_data(content),
        )
        body.parts += 1
        self._forget_waiting(body)

    def _forget_waiting(self, body: _Body) -> None:
        if self._waiting.pop(body.number, None) is not None:
            self._waiting_size -= body.waiting_size
            body.waiting, body.came, body.waiting_size = [], [], 0


def _table(body: _Body) -> bytes:
    """The chunks of what waits. What continues one of an earlier part is not among them."""
    table = ChunkTable()
    for piece, (at, continues) in zip(body.waiting, body.came, strict=True):
        # See spec/tape.md: a part's chunks may be fewer bytes than the part.
        if table.begun or not continues:
            table.add(len(piece), at, continues=continues)
    return table.encoded()


def undo_part(size: int, data: bytes) -> bytes:
    """The content of one part. Raises FrameError (a ValueError) where it is damaged."""
    return data if len(data) == size else undo(data, size)


def _part_data(content: bytes) -> bytes:
    """A part's data: a frame of its own if that is smaller, else the content as it is."""
    if len(content) < _WORTH_TRYING:
        return content
    data = compressed(content, "fast")
    return data if len(data) < len(content) else content
