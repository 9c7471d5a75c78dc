"""Reading a tape: events by number, evidence by digest. Never writes; trusts nothing it reads.

What is damaged raises TapeAltered where it is met, so that everything else stays readable. Look-ups
are built in memory when first needed: a table of them would stand outside the seal.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from rerail.errors import NotOnTape, TapeAltered, TapeUnreadable
from rerail.tape.chunks import Chunk
from rerail.tape.codec import decode
from rerail.tape.damage import Damaged, reading
from rerail.tape.evidence import Evidence, PartRow, joined_chunks
from rerail.tape.lock import being_written
from rerail.tape.merkle import HASH_SIZE, MerkleTree, leaf_hash
from rerail.tape.opening import REPAIR, Opened, nothing_recorded, open_tape_file
from rerail.tape.records import Event, RunEnded, RunStarted, Side
from rerail.tape.stored import StoredEvents

State = Literal["finished", "lost", "live"]


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


class Tape:
    """An open tape. For one thread at a time; use it in a `with` block or call `close`."""

    def __init__(self, path: Path, opened: Opened) -> None:
        self.path = path
        self._opened = opened
        self._connection = opened.connection
        self.stored = StoredEvents(opened.connection)
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
        with self._saying("its events cannot be counted"):
            return self.stored.last()

    @property
    def ended(self) -> RunEnded | None:
        """How the run ended, or None where the tape does not say."""
        last = self.event(self.last_seq) if self.last_seq else None
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

    def id_of_first(self, events: int) -> str:
        """The id that the tape had when it held so many events."""
        tree = MerkleTree()
        for _, data in self.stored_events(stop=events + 1):
            tree.add(leaf_hash(data))
        return f"sha256:{tree.root().hex()}"

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
        seq = max(start, 1)
        while seq < end:
            # Frame by frame: asked for one by one, events would take half as long again.
            for data in self.stored.in_frame(seq)[: end - seq] or [self.event_bytes(seq)]:
                yield seq, data
                seq += 1

    def event(self, seq: int) -> Event:
        """The event with that number. Raises NotOnTape, TapeAltered."""
        return self._decoded(seq, self.event_bytes(seq))

    def event_bytes(self, seq: int) -> bytes:
        """The stored bytes of an event: what is hashed. Raises NotOnTape, TapeAltered."""
        with self._saying(f"event {seq} cannot be read"):
            data = self.stored.read(seq)
        if data is None:
            hint = f"its events are numbered 1 to {self.last_seq}"
            raise NotOnTape(f"there is no event {seq} on {self.path}", hint=hint)
        return data

    def blob(self, digest: bytes) -> bytes:
        """The content with that SHA-256. Raises NotOnTape, TapeAltered."""
        return b"".join(self.blob_stream(digest))

    def blob_stream(self, digest: bytes) -> Iterator[bytes]:
        """The same piece by piece; the last comes only when the digest is known to be right."""
        with self._saying(f"content {digest.hex()[:12]} cannot be read"):
            row = self.evidence.find(digest)
            if row is not None:
                yield from self.evidence.pieces(digest, row)
                return
        what = f"there is no content {digest.hex()[:12]} on {self.path}"
        raise NotOnTape(what, hint=f"see what is wrong with `rerail verify {self.path}`")

    def unfinished(self) -> list[UnfinishedBody]:
        """Bodies that had begun to arrive and have no end on the tape, in order."""
        with self._saying("bodies that were arriving cannot be read"):
            bodies = self.evidence.arriving()
            return [self._unfinished_body(number, parts) for number, parts in bodies.items()]

    def seals(self) -> list[Seal]:
        """All seals, in order."""
        sql = "SELECT tree_size, root, envelope FROM seal ORDER BY tree_size"
        with self._saying("its seals cannot be read"), reading():
            return [_seal(*row) for row in self._connection.execute(sql)]

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
            raise nothing_recorded(self.path) from error
        except TapeAltered as error:
            raise TapeUnreadable(error.what, hint=REPAIR.format(self.path)) from error
        if not isinstance(first, RunStarted):
            what = f"cannot open tape {self.path}: its first event is not the start of a run"
            raise TapeUnreadable(what, hint="take another copy of it")
        return first

    def _decoded(self, seq: int, data: bytes) -> Event:
        try:
            event = decode(data)
            if event.seq != seq:
                raise ValueError(f"it says that it is event {event.seq}")
        except ValueError as error:
            with self._saying(f"event {seq} cannot be read"):
                raise Damaged(str(error)) from error
        return event

    def _unfinished_body(self, number: int, parts: list[PartRow]) -> UnfinishedBody:
        return UnfinishedBody(
            exchange_id=parts[0].exchange_id,
            side=parts[0].side,
            size=sum(part.size for part in parts),
            chunks=tuple(joined_chunks(parts)),
            _read=lambda: self._read_parts(number),
        )

    def _read_parts(self, number: int) -> bytes:
        with self._saying("a body that was arriving cannot be read"):
            return b"".join(self.evidence.parts(number))

    def _saying(self, what: str) -> "_Saying":
        return _Saying(self.path, what)


class _Saying:
    """Turns Damaged into an error for people: what cannot be read, and why."""

    __slots__ = ("_path", "_what")

    def __init__(self, path: Path, what: str) -> None:
        self._path = path
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Damaged):
            hint = f"see all that is wrong with `rerail verify {self._path}`"
            raise TapeAltered(f"{self._path}: {self._what}: {error}", hint=hint) from error


def _seal(tree_size: object, root: object, envelope: object) -> Seal:
    if not isinstance(tree_size, int) or not isinstance(root, bytes) or len(root) != HASH_SIZE:
        raise Damaged("one of them is malformed")
    if envelope is not None and not isinstance(envelope, bytes):
        raise Damaged("the signature of one of them is malformed")
    return Seal(tree_size, root, envelope)
