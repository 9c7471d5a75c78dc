"""Writing a tape: records and bodies go into a queue, one thread brings them to the disk.

Nothing that a caller does here waits for the disk, except `flush` and `close`. Commits are grouped:
one every 50 ms while there is something to write, at once for what is urgent. The thread encodes,
compresses and stores, and lets go of the interpreter whenever it compresses, hashes or writes.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

from rerail.errors import TapeWriteFailed
from rerail.tape import form
from rerail.tape.chunks import ChunkTable
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.failure import cannot_write
from rerail.tape.keeper import Keeper
from rerail.tape.records import Body, Framing
from rerail.tape.storage import Storage

TICK_SECONDS: Final = 0.05
"""How long an event that is not urgent waits for company, at most."""

_PAUSE_SECONDS: Final = 0.002
_LONG_PAUSE_SECONDS: Final = 0.006
_BATCH_ITEMS: Final = 500
_BATCH_BYTES: Final = 4 << 20
_MANY_EVENTS: Final = 12
"""More come at once only under a load that no agent makes: then commits wait a little longer for
each other, and frames are not packed."""

_SLICE: Final = 256 << 10
_EVENT_COST: Final = 2048
_PIECE_COST: Final = 256
"""Bytes of memory that an event, and a piece of a body besides its content, takes in the queue."""

_ITEMS_A_TURN: Final = 10

_Work = tuple[int, Callable[..., object], tuple[Any, ...]]
"""A cost in bytes, what to call in the thread, and with what."""


class TapeWriter:
    """One tape being written. Safe to use from several threads."""

    def __init__(
        self,
        storage: Storage,
        on_failure: Callable[[TapeWriteFailed], None] | None = None,
        *,
        keeper: Keeper | None = None,
        events: int = 0,
        bodies: int = 0,
    ) -> None:
        self.path = storage.path
        self.failed: TapeWriteFailed | None = None
        self._storage = storage
        self._on_failure = on_failure
        self._keeper = keeper or Keeper(storage)
        self._guard = threading.Lock()
        self._queue: deque[_Work] = deque()
        self._something = threading.Event()
        self._woken = False
        self._now = threading.Event()
        self._no_pause = threading.Event()
        self._waiters: list[threading.Event] = []
        self._seq = events
        self._seq_taken = events
        self._bodies = bodies
        self._given = 0
        self._kept = 0
        self._closing = False
        self._tape_id = ""
        self._sync = False
        self._thread = threading.Thread(target=self._run, name="tape writer", daemon=True)
        self._thread.start()

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        overwrite: bool = False,
        on_failure: Callable[[TapeWriteFailed], None] | None = None,
    ) -> Self:
        """Make a tape at `path`, readable by its owner alone.

        `on_failure` is called once, from the writer's thread, when the tape can no longer be
        written; it must not close the writer. Raises TapeExists (unless `overwrite`), TapeBusy,
        TapeWriteFailed.
        """
        return cls(Storage.create(path, overwrite=overwrite), on_failure)

    @property
    def backlog(self) -> int:
        """Bytes of memory, about, that are given and not yet committed: what a slow disk costs."""
        return self._given - self._kept

    @property
    def last_seq(self) -> int:
        """The number of the last event given."""
        return self._seq

    def append(self, record: CleanRecord, *, urgent: bool = False) -> int:
        """Queue an event and return its number; `urgent` starts a commit at once, without waiting.

        On a tape that has failed or is closed the event is dropped.
        """
        event = record.event
        with self._guard:
            self._seq += 1
            seq = self._seq
            self._put((_EVENT_COST, self._keeper.event, (event, seq)))
        if urgent and not self._now.is_set():
            self._now.set()
        return seq

    def body(
        self, *, exchange_id: int, side: form.Giver, lane: str = "", exact: bool = True
    ) -> "BodyWriter":
        """Begin a body that arrives piece by piece.

        `lane` names the series of bodies of which each repeats most of the one before. Without
        `exact`, reads less than a millisecond apart are counted as one chunk.
        """
        with self._guard:
            self._bodies += 1
            number = self._bodies
        return BodyWriter(self, number, exchange_id, side, lane, exact=exact)

    def blob(self, content: CleanBytes, *, lane: str = "") -> bytes:
        """Queue content that is whole already, and return its digest (SHA-256)."""
        if len(content) > form.BLOB_SIZE:
            return self._blob_in_parts(content, lane)
        digest = sha256(content).digest()
        self._give(len(content), self._keeper.blobs.keep, (digest, content, lane))
        return digest

    def seal(self) -> None:
        """Queue a seal over all events given so far."""
        self._give(0, self._keeper.seal, ())

    def flush(self, *, synced: bool = False) -> None:
        """Wait until everything given so far is committed: it outlasts a killed process.

        `synced`: until it outlasts a power cut too. Raises TapeWriteFailed.
        """
        done = threading.Event()
        with self._guard:
            queued = self._put((0, self._promise, (done, synced)))
        if queued:
            self._hurry()
            done.wait()
        if self.failed is not None:
            raise self.failed

    def close(self) -> str:
        """Commit, seal, bring everything into the one file; returns the tape's id.

        Closing again returns the same. Raises TapeWriteFailed where the tape has failed.
        """
        with self._guard:
            self._closing = True
        self._hurry()
        self._something.set()
        self._thread.join()
        if self.failed is not None:
            raise self.failed
        return self._tape_id

    def _blob_in_parts(self, content: CleanBytes, lane: str) -> bytes:
        writer = self.body(exchange_id=0, side="agent", lane=lane)
        writer.write(content, at=0)
        body = writer.finish(framing="none")
        assert body is not None
        return body.digest

    def _give(self, cost: int, work: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        """Queue work for the thread; `cost` in bytes."""
        with self._guard:
            self._put((cost, work, arguments))

    def _put(self, work: _Work) -> bool:
        if self.failed is not None or self._closing:
            return False
        self._given += work[0]
        self._queue.append(work)
        if not self._woken:
            self._woken = True
            self._something.set()
        return True

    def _hurry(self) -> None:
        self._no_pause.set()
        self._now.set()

    # From here on: the writer's thread.

    def _run(self) -> None:
        try:
            while not self._closing:
                self._something.wait()
                hurried = self._now.wait(TICK_SECONDS)
                self._something.clear()
                self._now.clear()
                self._woken = False
                self._commit_all(with_waiting=not hurried)
                hurry = self._keeper.blobs.in_a_hurry
                self._no_pause.wait(_LONG_PAUSE_SECONDS if hurry else _PAUSE_SECONDS)
                self._no_pause.clear()
            self._finish()
        except Exception as error:  # the edge of the thread: whatever it is must reach the recorder
            self._fail(error)

    def _commit_all(self, *, with_waiting: bool) -> None:
        """Bring the queue to the disk in transactions of a bounded size."""
        new, self._seq_taken = self._seq - self._seq_taken, self._seq
        self._keeper.blobs.in_a_hurry = new > _MANY_EVENTS
        more = True
        while more:
            self._storage.begin()
            cost, more = self._work_through()
            self._keeper.bodies.write_waiting(everything=with_waiting and not more)
            self._keeper.write()
            self._storage.commit()
            if self._sync:
                self._storage.sync()
                self._sync = False
            self._kept += cost
            while self._waiters:
                self._waiters.pop().set()

    def _work_through(self) -> tuple[int, bool]:
        """One batch; returns its cost in bytes and whether it left something in the queue."""
        queue, total = self._queue, 0
        let_others_run = _on_one_processor() and getattr(os, "sched_yield", None)
        for count in range(_BATCH_ITEMS):
            if not queue:
                return total, False
            cost, work, arguments = queue.popleft()
            work(*arguments)
            if let_others_run and count % _ITEMS_A_TURN == 0:
                let_others_run()
            total += cost
            if total >= _BATCH_BYTES:
                break
        return total, bool(queue)

    def _promise(self, done: threading.Event, synced: bool) -> None:
        """Everything queued before this is committed with the batch that this is in."""
        self._sync = self._sync or synced
        self._keeper.bodies.write_waiting(everything=True)
        self._waiters.append(done)

    def _finish(self) -> None:
        self._commit_all(with_waiting=True)
        self._storage.begin()
        root = self._keeper.finish()
        self._storage.commit()
        self._storage.finish()
        self._tape_id = f"sha256:{root.hex()}"

    def _fail(self, error: Exception) -> None:
        self._storage.abandon()
        with self._guard:
            self.failed = cannot_write(self.path, error)
            left = [item for item in self._queue if item[1] == self._promise]
            self._queue.clear()
            self._kept = self._given
        for _, _, [done, *_] in left:
            self._waiters.append(done)
        while self._waiters:
            self._waiters.pop().set()
        if self._on_failure is not None:
            self._on_failure(self.failed)


def _on_one_processor() -> bool:
    """Whether the event loop shares our processor.

    Then a loop that has become ready would wait for the end of this thread's time slice (3 ms at
    p99; 0.6 ms where the thread gives way): being let into the interpreter is not enough.
    """
    return not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) == 1


class BodyWriter:
    """One body on its way to the tape. For one thread at a time."""

    __slots__ = ("_bodies", "_chunks", "_exact", "_give", "_hash", "_number", "_origin", "size")

    def __init__(
        self,
        tape: TapeWriter,
        number: int,
        exchange_id: int,
        side: form.Giver,
        lane: str,
        *,
        exact: bool,
    ) -> None:
        self.size = 0
        self._give = tape._give
        self._bodies = tape._keeper.bodies
        self._number = number
        self._origin = (number, exchange_id, side, lane)
        self._exact = exact
        self._chunks = ChunkTable()

    def write(self, data: CleanBytes, *, at: int, continues: bool = False) -> None:
        """Add what the sender sent at once, or what one read brought.

        `at` is nanoseconds since the run began. `continues`: these bytes belong to the chunk that
        the last call began (a sender's chunk that came in several reads).
        """
        if len(data) <= _SLICE:
            if data:
                self._write_slice(data, at, continues)
            return
        for start in range(0, len(data), _SLICE):
            self._write_slice(data[start : start + _SLICE], at, start > 0 or continues)

    def _write_slice(self, data: bytes, at: int, continues: bool) -> None:
        size = len(data)
        cost = size + _PIECE_COST
        if not self.size:
            self._hash = sha256(data)
            self._give(cost, self._bodies.first, (*self._origin, data, at))
            continues = False
        else:
            self._hash.update(data)
            if not continues and not self._exact:
                continues = self._chunks.merges(at)
            self._give(cost, self._bodies.add, (self._number, data, at, continues))
        self._chunks.add(size, at, continues=continues)
        self.size += size

    def drop(self) -> None:
        """The body is not to be kept after all, as if it had never begun."""
        if self.size:
            self._give(0, self._bodies.drop, (self._number,))
            self.size = 0

    def finish(
        self, *, framing: Framing, chunk_lines: bytes = b"", trailers: bytes = b""
    ) -> Body | None:
        """The body is over. Returns what an event says of it, or None if nothing was written."""
        if not self.size:
            return None
        digest = self._hash.digest()
        self._give(0, self._bodies.end, (self._number, digest))
        return Body(
            digest=digest,
            size=self.size,
            framing=framing,
            chunks=self._chunks.encoded(),
            chunk_lines=chunk_lines,
            trailers=trailers,
        )
