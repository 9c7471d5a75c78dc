"""One pass over a damaged tape: copies events and contents that can be read, and notes the rest.

The stored bytes of an event are copied as they are, so that as long as nothing is lost the new tape
has the same root; behind a gap events get new numbers, since a tape has none.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rerail.errors import TapeUnreadable
from rerail.tape.codec import decode, renumbered
from rerail.tape.damage import Damaged, reading
from rerail.tape.evidence import Evidence, PartRow
from rerail.tape.folding import Circumstances, HalfBody
from rerail.tape.keeper import Keeper
from rerail.tape.records import (
    CaptureMissing,
    Event,
    RunEnded,
    RunLost,
    RunStarted,
)
from rerail.tape.references import contents_of, contents_of_tree, trees_of
from rerail.tape.storage import Storage
from rerail.tape.stored import StoredEvents, Stretch, joined

_UNREADABLE: Final = "part of the tape could not be read"
_EVENTS_A_COMMIT: Final = 500
_META: Final = ("run_id", "task_id", "writer")


class Salvage:
    """What is saved: counts, and in words which bodies are cut and what is lost."""

    def __init__(self, connection: sqlite3.Connection, storage: Storage) -> None:
        self.events = 0
        self.run_id = ""
        self.cut: list[str] = []
        self.lost: list[str] = []
        self._connection = connection
        self._stored = StoredEvents(connection)
        self._evidence = Evidence(connection)
        self._storage = storage
        self._keeper = Keeper(storage)
        self._circumstances = Circumstances()
        self._bodies = 0
        self._copied: set[bytes] = set()
        self._last: Event | None = None

    @property
    def contents(self) -> int:
        """How many contents are saved."""
        return len(self._copied)

    def run(self, source: Path) -> bytes:
        """Copy everything; returns the root of the new tape. Raises TapeUnreadable."""
        self._storage.begin()
        end = self._copy_events()
        if self._last is None:
            what = f"cannot save anything from {source}: not one of its events can be read"
            raise TapeUnreadable(what, hint="take another copy of it")
        for number, parts in self._arriving().items():
            self._fold(number, parts, self._last)
        self._write_end(end, self._last)
        root = self._keeper.finish()
        self._storage.commit()
        return root

    # Events, and the contents they name.

    def _copy_events(self) -> bytes | None:
        """Copy all events that can be read; an end record is given back, to be the last again."""
        lost: Stretch | None = None
        for stretch in map(_readable, self._stored.walk()):
            if stretch.damage is not None:
                lost = joined(lost, stretch)
                continue
            event = decode(stretch.data)
            self._say_lost(lost, event)
            lost = None
            if isinstance(event, RunEnded | RunLost):
                self._last = self._last or event
                return stretch.data
            self._copy(stretch.data, event)
            if self.events % _EVENTS_A_COMMIT == 0:
                self._keeper.write()
                self._storage.commit()
                self._storage.begin()
        if self._last is not None:
            self._say_lost(lost, self._last)
        return None

    def _copy(self, data: bytes, event: Event) -> None:
        self._begin_run(event)
        for reference in contents_of(event):
            self._copy_content(reference.digest, event)
        for tree in trees_of(event):
            if tree.digest in self._copied:
                self._copy_files(tree.digest, event)
        self._circumstances.take(event)
        self._keep(data, event)
        self._last = event
        if isinstance(event, RunStarted):
            self._describe({name: getattr(event, name) for name in _META})

    def _keep(self, data: bytes, event: Event) -> None:
        self.events += 1
        same = event.seq == self.events
        self._keeper.stored_event(data if same else renumbered(data, self.events), self.events)

    def _add(self, event: Event) -> None:
        """A new event, told by the repair."""
        self.events += 1
        self._keeper.event(event, self.events)

    def _say_lost(self, lost: Stretch | None, near: Event) -> None:
        """Put a record in the place of events that cannot be read; its time is that beside it."""
        if lost is None:
            return
        self.lost.append(f"{lost.name} cannot be read: {lost.damage}")
        self._begin_run(near)
        detail = f"{lost.name} of the source: {lost.damage}"
        self._add(CaptureMissing(at=near.at, wall=near.wall, what=_UNREADABLE, detail=detail))

    def _begin_run(self, event: Event) -> None:
        """A tape begins with the start of its run: where that is lost, with what is known of it."""
        if self.run_id or isinstance(event, RunStarted):
            return
        meta = dict.fromkeys(_META, "unknown") | self._meta()
        self._describe(meta)
        run_id, task_id, writer = (meta[name] for name in _META)
        start = RunStarted(
            at=0,
            wall=event.wall - event.at,
            run_id=run_id,
            task_id=task_id,
            writer=writer,
            argv=[],
            cwd="",
        )
        self._add(start)

    def _meta(self) -> dict[str, str]:
        try:
            with reading():
                rows = self._connection.execute("SELECT name, value FROM meta").fetchall()
        except Damaged:
            return {}
        return {name: str(value) for name, value in rows if name in _META}

    def _describe(self, meta: dict[str, str]) -> None:
        self.run_id = meta["run_id"]
        for name, value in meta.items():
            self._keeper.describe(name, value)

    def _copy_files(self, tree: bytes, event: Event) -> None:
        """What a tree that an event names names in its turn."""
        row = self._evidence.find(tree)
        try:
            files = contents_of_tree(b"".join(self._evidence.pieces(tree, row)) if row else b"")
        except ValueError as error:
            self.lost.append(f"the tree of event {event.seq} cannot be used: {error}")
            return
        for file in files:
            self._copy_content(file.digest, event)

    def _copy_content(self, digest: bytes, event: Event) -> None:
        if digest in self._copied:
            return
        try:
            row = self._evidence.find(digest)
            if row is None:
                raise Damaged("it is missing")
            pieces = self._evidence.pieces(digest, row)
            if row.body is not None:
                self._copy_large(digest, pieces)
            else:
                self._keeper.blobs.keep(digest, b"".join(pieces), f"frame {row.frame}")
        except Damaged as error:
            name = f"content {digest.hex()[:12]} of event {event.seq}"
            self.lost.append(f"{name} cannot be read: {error}")
            return
        self._copied.add(digest)

    def _copy_large(self, digest: bytes, pieces: Iterator[bytes]) -> None:
        """Raises Damaged at the first piece that is; what was written of it is dropped."""
        self._bodies += 1
        bodies = self._keeper.bodies
        bodies.begin(self._bodies, 0, "origin", "")
        try:
            for piece in pieces:
                bodies.add(self._bodies, piece, 0, False)
        except Damaged:
            bodies.drop(self._bodies)
            raise
        bodies.end(self._bodies, digest)

    # Bodies that were arriving, and the end.

    def _arriving(self) -> dict[int, list[PartRow]]:
        try:
            return self._evidence.arriving()
        except Damaged as error:
            self.lost.append(f"bodies that were arriving cannot be read: {error}")
            return {}

    def _fold(self, number: int, parts: list[PartRow], last: Event) -> None:
        """Make of a body that was arriving the event that would have told of it."""
        half = HalfBody(parts)
        self._bodies += 1
        bodies = self._keeper.bodies
        bodies.begin(self._bodies, half.exchange_id, half.side, "")
        try:
            for piece in self._evidence.parts(number):
                bodies.add(self._bodies, piece, last.at, half.size > 0)
                half.add(piece)
        except Damaged as error:
            self.lost.append(f"{half.name} cannot be read to its end: {error}")
        if not half.size:
            bodies.drop(self._bodies)
            return
        bodies.end(self._bodies, half.digest())
        self._copied.add(half.digest())
        self.cut.append(f"{half.name} is cut after {half.size} bytes")
        self._add(self._circumstances.event_of(half, at=last.at, wall=last.wall))

    def _write_end(self, end: bytes | None, last: Event) -> None:
        if end is None:
            reason = "the recorder ended without closing the tape"
            self._add(RunLost(at=last.at, wall=last.wall, reason=reason))
        else:
            self._keep(end, decode(end))


def _readable(stretch: Stretch) -> Stretch:
    """The same, or a stretch that says that its bytes are no event."""
    try:
        if stretch.damage is None:
            decode(stretch.data)
    except ValueError as error:
        return Stretch(stretch.first, stretch.last, b"", Damaged(str(error)))
    return stretch
