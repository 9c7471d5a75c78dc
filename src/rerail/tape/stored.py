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
_LARGEST_GAP: Final = 1 << 16
"""Events that may be missing of a tape: a number further off is a stranger's, to keep us busy."""

_ROW_BYTES: Final = 8
_GAP_AT_MOST: Final = 1 << 20
_Row = tuple[object, object, object]


@dataclass(frozen=True, slots=True)
class _Frame:
    """The events of one frame up to where it can be read, and why not further."""

    events: list[bytes]
    damage: Damaged | None = None


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
        number, index = divmod(seq - 1, form.EVENTS_PER_FRAME)
        frame = self._frames.get(number)
        if frame is None or index >= len(frame.events):
            frame = self._read_frame(number)
        if index < len(frame.events):
            return frame.events[index]
        if frame.damage is not None:
            raise frame.damage
        if seq <= self.last():
            raise Missing(f"event {seq - index + len(frame.events)} is missing")
        return None

    def in_frame(self, seq: int) -> list[bytes]:
        """The bytes of an event and of those behind it in its frame, as far as they can be had."""
        number, index = divmod(seq - 1, form.EVENTS_PER_FRAME)
        frame = self._frames.get(number)
        if frame is None or index >= len(frame.events):
            frame = self._read_frame(number)
        return frame.events[index:]

    def _read_frame(self, number: int) -> _Frame:
        first = number * form.EVENTS_PER_FRAME + 1
        frame = _undo(first, *self._rows(first))
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


def _undo(first: int, rows: list[_Row], damage: Damaged | None) -> _Frame:
    """The events of one frame, up to the first that is missing or torn."""
    events: list[bytes] = []
    reader = FrameReader()
    for expected, (seq, size, data) in enumerate(rows, first):
        if seq != expected:
            return _Frame(events, Missing(f"event {expected} is missing"))
        if not isinstance(size, int) or not 0 < size <= form.EVENT_SIZE:
            return _Frame(events, Damaged(f"the size of event {seq} is out of bounds"))
        if not isinstance(data, bytes):
            return _Frame(events, Damaged(f"event {seq} has no data"))
        try:
            reader.give(data)
            events.append(reader.read(size))
        except FrameError as error:
            return _Frame(events, Damaged(str(error)))
    return _Frame(events, damage)
