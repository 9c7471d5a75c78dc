"""Reading a tape: events by number, evidence by digest. Never writes; trusts nothing it reads.

What is damaged raises TapeAltered where it is met, so that everything else stays readable. Look-ups
are built in memory when first needed: a table of them would stand outside the seal.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from rerail.errors import NotOnTape, TapeAltered, TapeUnreadable
from rerail.tape import form
from rerail.tape.chunks import Chunk, decode_chunks
from rerail.tape.codec import decode
from rerail.tape.evidence import Damaged, Evidence
from rerail.tape.frames import FrameError, FrameReader
from rerail.tape.lock import being_written
from rerail.tape.merkle import MerkleTree, leaf_hash
from rerail.tape.opening import Opened, open_tape_file
from rerail.tape.records import Event, RunEnded, RunStarted, Side

State = Literal["finished", "lost", "live"]

_FRAMES_KEPT: Final = 4


@dataclass(frozen=True, slots=True)
class Seal:
    """The root over the first `tree_size` events, and a signature's envelope once there is one."""

    tree_size: int
    root: bytes
    envelope: bytes | None


@dataclass(frozen=True, slots=True)
class UnfinishedBody:
    """A body whose end was not recorded: what had come up to the last committed chunk."""

    exchange_id: int
    side: Side
    size: int
    chunks: tuple[Chunk, ...]
    _read: Callable[[], bytes] = field(repr=False, compare=False)

    def content(self) -> bytes:
        """The bytes. Raises TapeAltered where a part is damaged."""
        return self._read()


@dataclass(frozen=True, slots=True)
class _Frame:
    """The stored bytes of the events in one frame, up to where it can be read, and why not on."""

    events: list[bytes]
    damage: str


class Tape:
    """An open tape. For one thread at a time; use it in a `with` block or call `close`."""

    def __init__(self, path: Path, opened: Opened) -> None:
        self.path = path
        self._opened = opened
        self._connection = opened.connection
        self._frames: dict[int, _Frame] = {}
        self.evidence = Evidence(opened.connection)
        self.run = self._run_started()

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the tape at `path`, finished, being written, or left by a recorder that died.

        Neither the tape nor its folder is changed. Raises TapeUnreadable with the mend.
        """
        opened = open_tape_file(path)
        try:
            return cls(path, opened)
        except BaseException:
            opened.close()
            raise

    def close(self) -> None:
        """Give the file up."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def last_seq(self) -> int:
        """The number of the last event; grows while the tape is being written."""
        with self._reading():
            found = self._connection.execute("SELECT max(seq) FROM event").fetchone()[0]
        return found if isinstance(found, int) else 0

    @property
    def ended(self) -> RunEnded | None:
        """How the run ended, or None where the tape does not say."""
        last = self._last_event()
        return last if isinstance(last, RunEnded) else None

    @property
    def state(self) -> State:
        """Finished (it has its end record), live (it is being written), or lost (neither)."""
        # Asked first: a recorder that ends in between has written its last event by then.
        writing = self._opened.live and being_written(self.path)
        if self.ended is not None:
            return "finished"
        return "live" if writing else "lost"

    @property
    def id(self) -> str:
        """The tape's id: `sha256:` and the root over all events."""
        return f"sha256:{self.root().hex()}"

    def events(self, *, start: int = 1, stop: int | None = None) -> Iterator[Event]:
        """Events in order, from `start` up to, not including, `stop`. Raises TapeAltered."""
        for seq, data in self.stored_events(start=start, stop=stop):
            yield self._decoded(seq, data)

    def stored_events(
        self, *, start: int = 1, stop: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """The same as (number, stored bytes)."""
        last = self.last_seq
        end = last + 1 if stop is None else min(stop, last + 1)
        for seq in range(max(start, 1), end):
            yield seq, self.event_bytes(seq)

    def event(self, seq: int) -> Event:
        """The event with that number. Raises NotOnTape, TapeAltered."""
        return self._decoded(seq, self.event_bytes(seq))

    def event_bytes(self, seq: int) -> bytes:
        """The stored bytes of an event: what is hashed. Raises NotOnTape, TapeAltered."""
        if seq < 1:
            raise self._no_event(seq)
        number, index = divmod(seq - 1, form.EVENTS_PER_FRAME)
        frame = self._frames.get(number)
        if frame is None or index >= len(frame.events):
            frame = self._read_frame(number)
        if index < len(frame.events):
            return frame.events[index]
        if frame.damage:
            raise self._altered(f"event {seq} cannot be read: {frame.damage}")
        if seq <= self.last_seq:
            raise self._altered(f"event {seq} is missing")
        raise self._no_event(seq)

    def blob(self, digest: bytes) -> bytes:
        """The content with that SHA-256. Raises NotOnTape, TapeAltered."""
        return b"".join(self.blob_stream(digest))

    def blob_stream(self, digest: bytes) -> Iterator[bytes]:
        """The same piece by piece; only at the end is it sure that the digest is right."""
        with self._reading():
            row = self.evidence.find(digest)
        if row is None:
            what = f"there is no content {digest.hex()[:12]} on {self.path}"
            raise NotOnTape(what, hint=f"see what is wrong with `rerail verify {self.path}`")
        with self._reading():
            try:
                yield from self.evidence.pieces(digest, row)
            except Damaged as error:
                what = f"content {digest.hex()[:12]} cannot be read: {error}"
                raise self._altered(what) from error

    def unfinished(self) -> list[UnfinishedBody]:
        """Bodies that had begun to arrive and have no end on the tape, in order."""
        sql = "SELECT id, exchange_id, side, size, chunks FROM part ORDER BY id"
        bodies: dict[int, list[tuple[int, int, int, bytes]]] = {}
        with self._reading():
            complete = self.evidence.bodies_in_parts()
            for part_id, *row in self._connection.execute(sql):
                number = part_id // form.PARTS_PER_BODY
                if number not in complete:
                    bodies.setdefault(number, []).append(tuple(row))
        return [self._unfinished_body(number, parts) for number, parts in bodies.items()]

    def seals(self) -> list[Seal]:
        """All seals, in order."""
        sql = "SELECT tree_size, root, envelope FROM seal ORDER BY tree_size"
        with self._reading():
            return [Seal(*row) for row in self._connection.execute(sql)]

    def root(self) -> bytes:
        """The root over all events (RFC 9162 section 2.1). Raises TapeAltered."""
        tree = MerkleTree()
        for _, data in self.stored_events():
            tree.add(leaf_hash(data))
        return tree.root()

    def _run_started(self) -> RunStarted:
        try:
            first = self.event(1)
        except NotOnTape as error:
            hint = "its recorder ended before anything was kept; record again"
            what = f"cannot open tape {self.path}: nothing has been recorded on it"
            raise TapeUnreadable(what, hint=hint) from error
        except TapeAltered as error:
            raise TapeUnreadable(error.what, hint=error.hint) from error
        if not isinstance(first, RunStarted):
            what = f"cannot open tape {self.path}: its first event is not the start of a run"
            raise TapeUnreadable(what, hint="take another copy of it")
        return first

    def _last_event(self) -> Event:
        return self.event(self.last_seq)

    def _read_frame(self, number: int) -> _Frame:
        first = number * form.EVENTS_PER_FRAME + 1
        sql = "SELECT seq, size, data FROM event WHERE seq >= ? AND seq < ? ORDER BY seq"
        with self._reading():
            bounds = (first, first + form.EVENTS_PER_FRAME)
            rows = self._connection.execute(sql, bounds).fetchall()
        frame = _undo_frame(first, rows)
        if len(self._frames) >= _FRAMES_KEPT:
            self._frames.pop(next(iter(self._frames)))
        self._frames[number] = frame
        return frame

    def _decoded(self, seq: int, data: bytes) -> Event:
        try:
            event = decode(data)
        except ValueError as error:
            raise self._altered(f"event {seq} cannot be read: {error}") from error
        if event.seq != seq:
            raise self._altered(f"event {seq} says that it is event {event.seq}")
        return event

    def _unfinished_body(
        self, number: int, parts: list[tuple[int, int, int, bytes]]
    ) -> UnfinishedBody:
        exchange_id, side_number, _, _ = parts[0]
        chunks: list[Chunk] = []
        try:
            side = form.SIDES[side_number]
            for _, _, size, table in parts:
                _join_chunks(chunks, size, decode_chunks(table))
        except (ValueError, TypeError, IndexError) as error:
            raise self._altered(f"a part of exchange {exchange_id} is damaged") from error
        return UnfinishedBody(
            exchange_id=exchange_id,
            side=side,
            size=sum(size for _, _, size, _ in parts),
            chunks=tuple(chunks),
            _read=lambda: self._read_parts(number),
        )

    def _read_parts(self, number: int) -> bytes:
        with self._reading():
            try:
                return b"".join(self.evidence.parts(number))
            except Damaged as error:
                raise self._altered(f"a body that was arriving cannot be read: {error}") from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what SQLite says of a damaged file into words."""
        try:
            yield
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise self._altered(f"it is damaged ({error})") from error

    def _altered(self, what: str) -> TapeAltered:
        hint = f"see all that is wrong with `rerail verify {self.path}`"
        return TapeAltered(f"{self.path}: {what}", hint=hint)

    def _no_event(self, seq: int) -> NotOnTape:
        hint = f"its events are numbered 1 to {self.last_seq}"
        return NotOnTape(f"there is no event {seq} on {self.path}", hint=hint)


def _undo_frame(first: int, rows: list[tuple[object, object, object]]) -> _Frame:
    """The events of one frame, up to the first that is missing or torn."""
    events: list[bytes] = []
    reader = FrameReader()
    for expected, (seq, size, data) in enumerate(rows, first):
        if seq != expected:
            return _Frame(events, f"event {expected} is missing")
        if not isinstance(size, int) or not 0 < size <= form.EVENT_SIZE:
            return _Frame(events, f"the size of event {seq} is out of bounds")
        if not isinstance(data, bytes):
            return _Frame(events, f"event {seq} has no data")
        try:
            reader.give(data)
            events.append(reader.read(size))
        except FrameError as error:
            return _Frame(events, str(error))
    return _Frame(events, "")


def _join_chunks(chunks: list[Chunk], size: int, part: list[Chunk]) -> None:
    """Append a part's chunks; bytes its table does not cover belong to the chunk before."""
    uncovered = size - sum(chunk.size for chunk in part)
    if uncovered < 0 or (uncovered and not chunks):
        raise ValueError("a chunk table that does not fit its part")
    if uncovered:
        chunks[-1] = Chunk(chunks[-1].size + uncovered, chunks[-1].at_ns)
    chunks.extend(part)
