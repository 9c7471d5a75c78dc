"""The stored bytes of events, by number. Knows rows and frames, not what an event is.

Events are read a frame at a time. In a damaged frame all events up to the damage can be read.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from rerail.tape import form
from rerail.tape.damage import Damaged, Missing, reading
from rerail.tape.frames import FrameError, FrameReader

_FRAMES_KEPT: Final = 4
_HELD_BYTES: Final = 32 << 20
"""Of one frame's events; one more may be held."""

_ROW_BYTES: Final = 8
_GAP_AT_MOST: Final = 1 << 20
_Row = tuple[object, object, object]


class _Frame:
    """The events of one frame, undone as far as they are wanted; `damage` says why not further.

    `events` are those from index `begin` on: of large ones only the last are held, since a few
    bytes may stand for gigabytes.
    """

    __slots__ = ("_after", "_expected", "_reader", "_rows", "_size", "begin", "damage", "events")

    def __init__(self, first: int, rows: list[_Row], after: Damaged | None) -> None:
        self.begin = 0
        self.events: list[bytes] = []
        self.damage: Damaged | None = None
        self._expected = first
        self._rows = iter(rows)
        self._after = after
        self._reader = FrameReader()
        self._size = 0

    @property
    def end(self) -> int:
        """The index behind the last that is undone."""
        return self.begin + len(self.events)

    def holds(self, index: int) -> bool:
        """Whether this event is here; those behind it too, as many as may be held."""
        if self.begin <= index < self.end:
            return True
        while self.damage is None and (self.end <= index or self._size < _HELD_BYTES):
            try:
                row = next(self._rows, None)
                if row is None:
                    self.damage = self._after
                    break
                self._hold(self._undone(*row))
            except FrameError as error:
                self.damage = Damaged(str(error))
            except Damaged as error:
                self.damage = error
        return self.begin <= index < self.end

    def _hold(self, event: bytes) -> None:
        if self._size >= _HELD_BYTES:
            self.begin, self.events, self._size = self.end, [], 0
        self.events.append(event)
        self._size += len(event)

    def _undone(self, seq: object, size: object, data: object) -> bytes:
        expected, self._expected = self._expected, self._expected + 1
        if seq != expected:
            raise Missing(f"event {expected} is missing")
        if not isinstance(size, int) or not 0 < size <= form.EVENT_SIZE:
            raise Damaged(f"the size of event {seq} is out of bounds")
        if not isinstance(data, bytes):
            raise Damaged(f"event {seq} has no data")
        self._reader.give(data)
        return self._reader.read(size)


@dataclass(frozen=True, slots=True)
class Stretch:
    """One event and its bytes; or events `first` to `last` that cannot be read, and why."""

    first: int
    last: int
    data: bytes
    damage: Damaged | None = None

    @property
    def name(self) -> str:
        """What to call it."""
        one = self.first == self.last
        return f"event {self.first}" if one else f"events {self.first} to {self.last}"


def joined(before: Stretch | None, after: Stretch) -> Stretch:
    """Two neighbouring stretches that cannot be read, as one: the first says why."""
    if before is None:
        return after
    return Stretch(before.first, after.last, b"", before.damage)


class StoredEvents:
    """The `event` rows of one tape."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._frames: dict[int, _Frame] = {}

    def last(self) -> int:
        """The number of the last event, 0 if there is none. Raises Damaged."""
        with reading():
            [found] = self._connection.execute("SELECT max(seq) FROM event").fetchone()
            [pages] = self._connection.execute("PRAGMA page_count").fetchone()
            [page_size] = self._connection.execute("PRAGMA page_size").fetchone()
        if found is None:
            return 0
        if not isinstance(found, int) or found > pages * page_size // _ROW_BYTES:
            raise Damaged(f"one has the number {found}, which is more than there can be")
        return max(found, 0)

    def walk(self) -> Iterator["Stretch"]:
        """All events in order, one by one, and between them the stretches that cannot be read."""
        lost: Stretch | None = None
        seq, last = 1, self.last_that_can_be_found()
        while seq <= last:
            try:
                data = self.read(seq) or b""
            except Damaged as error:
                found = Stretch(seq, min(_end_of_frame(seq), last), b"", error)
                lost = joined(lost, found)
                seq = found.last + 1
                continue
            if lost is not None:
                yield lost
                lost = None
            yield Stretch(seq, seq, data)
            seq += 1
        if lost is not None:
            yield lost

    def last_that_can_be_found(self) -> int:
        """The last number that can be found, however damaged the table is."""
        with suppress(Damaged):
            return self.last()
        found = 0
        with suppress(Damaged), reading():
            for [seq] in self._connection.execute("SELECT seq FROM event ORDER BY seq"):
                if seq > found + _GAP_AT_MOST:
                    break
                found = seq
        return found

    def read(self, seq: int) -> bytes | None:
        """An event's bytes, or None if there is no such event. Raises Damaged."""
        if seq < 1:
            return None
        frame, index = self._frame(seq)
        if frame.holds(index):
            return frame.events[index - frame.begin]
        if frame.damage is not None:
            raise frame.damage
        if seq <= self.last():
            raise Missing(f"event {seq - index + frame.end} is missing")
        return None

    def in_frame(self, seq: int) -> list[bytes]:
        """The bytes of an event and of those behind it in its frame, as many as are held."""
        frame, index = self._frame(seq)
        return frame.events[index - frame.begin :] if frame.holds(index) else []

    def _frame(self, seq: int) -> tuple[_Frame, int]:
        """The frame of an event, read again where it does not hold it, and its index there."""
        number, index = divmod(seq - 1, form.EVENTS_PER_FRAME)
        frame = self._frames.get(number)
        if frame is None or not frame.holds(index):
            frame = self._read_frame(number)
        return frame, index

    def _read_frame(self, number: int) -> _Frame:
        first = number * form.EVENTS_PER_FRAME + 1
        frame = _Frame(first, *self._rows(first))
        self._frames.pop(number, None)
        if len(self._frames) >= _FRAMES_KEPT:
            self._frames.pop(next(iter(self._frames)))
        self._frames[number] = frame
        return frame

    def _rows(self, first: int) -> tuple[list[_Row], Damaged | None]:
        """The rows of a frame as far as they can be had, and why not further."""
        sql = "SELECT seq, size, data FROM event WHERE seq >= ? AND seq < ? ORDER BY seq"
        rows: list[_Row] = []
        try:
            with reading():
                bounds = (first, first + form.EVENTS_PER_FRAME)
                rows.extend(self._connection.execute(sql, bounds))
        except Damaged as error:
            return rows, error
        return rows, None


def _end_of_frame(seq: int) -> int:
    """The number of the last event in the frame of this one."""
    return seq + -seq % form.EVENTS_PER_FRAME
