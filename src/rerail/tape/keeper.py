"""From facts to rows: numbers and compresses events, seals, and hands bodies on. Knows no thread.

All of it runs in the writer's own thread, one batch a transaction. What a batch brings to a frame
is one piece of it, in the first of its rows: a piece for each row would take three times as long.
"""

from collections.abc import Iterable
from typing import Final

from rerail.errors import InternalError
from rerail.tape import form
from rerail.tape.arriving import ArrivingBodies
from rerail.tape.blobs import BlobKeeper
from rerail.tape.codec import encode
from rerail.tape.frames import NOTHING, FrameWriter
from rerail.tape.merkle import MerkleTree, leaf_hash
from rerail.tape.records import Event, RunStarted
from rerail.tape.storage import Storage

_WINDOW_LOG: Final = 17
_PACKED_WELL_AT_MOST: Final = 1 << 20


class Keeper:
    """What goes into one tape, in order."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._tree = MerkleTree()
        self._frame = FrameWriter(_WINDOW_LOG)
        self._frame_first = 1
        self._new: list[bytes] = []
        self._sealed = 0
        self.blobs = BlobKeeper(storage)
        self.bodies = ArrivingBodies(storage, self.blobs)

    def take_up(self, events: Iterable[bytes]) -> None:
        """Go on with a tape that has these events already, from its first to its last.

        The last frame is written anew: nobody else's can be gone on with.
        """
        held: list[bytes] = []
        for data in events:
            if len(held) == form.EVENTS_PER_FRAME:
                self._frame_first += len(held)
                held = []
            held.append(data)
            self._tree.add(leaf_hash(data))
        last = self._frame_first + len(held) - 1
        piece = self._frame.piece(b"".join(held), rows=len(held))
        self._storage.pack_events(self._frame_first, last, piece, others=NOTHING)
        self._sealed = self._storage.last_seal()
        self.blobs.take_up(self._storage.digests())

    def event(self, event: Event, seq: int) -> None:
        """Keep an event. Numbers must come in order, from 1."""
        self.stored_event(encode(event, seq), seq)
        self.bodies.latest = max(self.bodies.latest, event.at)
        if isinstance(event, RunStarted):
            self.describe("run_id", event.run_id)
            self.describe("task_id", event.task_id)
            self.describe("writer", event.writer)

    def stored_event(self, data: bytes, seq: int) -> None:
        """Keep an event that is encoded already, its number in it, and the bodies that it names."""
        self.bodies.settle()
        if len(data) > form.EVENT_SIZE:
            raise InternalError(f"an event of {len(data)} bytes is larger than a tape may hold")
        if seq == self._frame_first + form.EVENTS_PER_FRAME:
            self._write_events()
            self._pack_events()
            self._frame, self._frame_first = FrameWriter(_WINDOW_LOG), seq
        self._new.append(data)
        self._tree.add(leaf_hash(data))
        if seq % form.EVENTS_PER_SEAL == 0:
            self.seal()

    def describe(self, name: str, value: str) -> None:
        """A word for people who look with `sqlite3`; readers go by the events, which are sealed."""
        self._storage.add_meta(name, value)

    def seal(self) -> bytes:
        """Put down the root over all events so far, and return it."""
        root = self._tree.root()
        if self._tree.size > self._sealed:
            self._storage.add_seal(self._tree.size, root)
            self._sealed = self._tree.size
        return root

    def write(self) -> None:
        """Make rows of all that was given: it is due before each commit."""
        self._write_events()
        self.blobs.write()

    def finish(self) -> bytes:
        """Pack what has grown, put down the last seal, and return its root."""
        self.bodies.settle()
        self.write()
        self.blobs.in_a_hurry = False
        well = self._frame.content + self.blobs.growing <= _PACKED_WELL_AT_MOST
        self._pack_events(well=well)
        self.blobs.finish(well=well)
        return self.seal()

    def _write_events(self) -> None:
        new, self._new = self._new, []
        if not new:
            return
        seq = self._frame_first + self._frame.rows
        piece = self._frame.piece(b"".join(new), rows=len(new))
        for data in new:
            self._storage.add_event(seq, len(data), piece)
            seq, piece = seq + 1, NOTHING

    def _pack_events(self, *, well: bool = False) -> None:
        data = None if self.blobs.in_a_hurry else self._frame.packed(well=well)
        if data is not None:
            last = self._frame_first + self._frame.rows - 1
            self._storage.pack_events(self._frame_first, last, data)
