"""The tape as a file being written: tables, rows and commits. Knows SQLite, not what rows mean.

While it is written the file is in write-ahead mode (WAL), so that whatever is committed survives a
killed process and others may read along. Closing brings everything into the one file and turns it
back, so that the finished tape opens anywhere, read-only, with nothing beside it.
"""

import contextlib
import errno
import os
import sqlite3
import stat
from functools import cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Final, Self

from rerail.errors import TapeExists
from rerail.tape import form
from rerail.tape.companions import LOG, SUFFIXES, beside
from rerail.tape.failure import cannot_write
from rerail.tape.lock import WriterLock, busy

_ROWS_A_STATEMENT: Final = 32
_READERS_PATIENCE_MS: Final = 2000
_TIGHTENED_AT_MOST: Final = 64 << 20
_SMALL_AT_MOST: Final = 1 << 20
_GAPS: Final = 16
_Row = tuple[object, ...]
_HEADER_MODES: Final = slice(18, 20)
_LOG_MODE: Final = b"\x02\x02"
_IDENTITY: Final = slice(68, 72)


class Storage:
    """An open tape file with the right to write it. One thread at a time."""

    def __init__(self, path: Path, lock: WriterLock, connection: sqlite3.Connection) -> None:
        self.path = path
        self._lock = lock
        self._connection = connection
        self._execute = connection.execute
        self._events: list[_Row] = []
        self._blobs: list[_Row] = []
        self._log: int | None = None
        self._begun = False

    @classmethod
    def create(cls, path: Path, *, overwrite: bool = False) -> Self:
        """Make an empty tape at `path`. Raises TapeExists, TapeBusy, TapeWriteFailed."""
        try:
            lock = _claim(path, overwrite=overwrite)
        except OSError as error:
            raise cannot_write(path, error) from error
        connection = None
        try:
            if os.write(lock.descriptor, _empty()) < len(_empty()):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA synchronous = OFF")
        except (sqlite3.Error, OSError) as error:
            if connection is not None:
                connection.close()
            remove(path)
            lock.release()
            raise cannot_write(path, error) from error
        return cls(path, lock, connection)

    def digests(self) -> dict[bytes, int]:
        """The contents that are there already, each with the number of its blob."""
        return dict(self._execute("SELECT digest, id FROM blob ORDER BY id"))

    def last_body(self) -> int:
        """The largest number of a body that has parts, 0 for none."""
        [part] = self._execute("SELECT coalesce(max(id), 0) FROM part").fetchone()
        return int(part) // form.PARTS_PER_BODY

    def last_seal(self) -> int:
        """How many events the last seal covers."""
        return int(self._execute("SELECT coalesce(max(tree_size), 0) FROM seal").fetchone()[0])

    def sync(self) -> None:
        """Make what is committed outlast a power cut: a killed process it outlasts anyway."""
        if self._log is None:
            self._lock.sync()
            _sync_folder(self.path.parent)
            self._log = os.open(beside(self.path, LOG), os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(self._log)

    def begin(self) -> None:
        self._execute("BEGIN")

    def commit(self) -> None:
        self._insert_rows()
        self._execute("COMMIT")
        if not self._begun:
            # Else SQLite would sync the head of a new log, in which nothing old can be mistaken.
            self._execute("PRAGMA synchronous = NORMAL")
            self._begun = True

    def roll_back(self) -> None:
        """Forget what was not committed; a connection past saving is left as it is."""
        self._events, self._blobs = [], []
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._execute("ROLLBACK")

    def add_meta(self, name: str, value: str) -> None:
        self._execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def add_event(self, seq: int, size: int, data: bytes) -> None:
        self._events.append((seq, size, data))

    def pack_events(self, first: int, last: int, data: bytes, others: bytes = b"") -> None:
        """Put the whole frame of these events into the first one's row."""
        self._insert_rows()
        sql = "UPDATE event SET data = ? WHERE seq > ? AND seq <= ?"
        self._execute(sql, (others, first, last))
        self._execute("UPDATE event SET data = ? WHERE seq = ?", (data, first))

    def add_blob(
        self, number: int, digest: bytes, size: int, frame: int, head: int, tail: int, data: bytes
    ) -> None:
        self._blobs.append((number, digest, size, None, frame, head, tail, data))

    def add_blob_in_parts(self, number: int, digest: bytes, size: int, body: int) -> None:
        self._blobs.append((number, digest, size, body, None, None, None, None))

    def pack_blobs(self, blobs: list[int], data: bytes) -> None:
        """Put the whole frame of these blobs into the first one's row."""
        self._insert_rows()
        first, *others = blobs
        sql = "UPDATE blob SET data = x'' WHERE id = ?"
        self._connection.executemany(sql, [(number,) for number in others])
        self._execute("UPDATE blob SET data = ? WHERE id = ?", (data, first))

    def add_part(
        self, part_id: int, exchange_id: int, side: int, size: int, chunks: bytes, data: bytes
    ) -> None:
        row = (part_id, exchange_id, side, size, chunks, data)
        self._execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)

    def parts(self, body: int) -> list[tuple[int, bytes]]:
        """The (size, data) of a body's parts, in order."""
        sql = "SELECT size, data FROM part WHERE id >= ? AND id < ? ORDER BY id"
        first = body * form.PARTS_PER_BODY
        return self._execute(sql, (first, first + form.PARTS_PER_BODY)).fetchall()

    def drop_parts(self, body: int) -> None:
        first = body * form.PARTS_PER_BODY
        bounds = (first, first + form.PARTS_PER_BODY)
        self._execute("DELETE FROM part WHERE id >= ? AND id < ?", bounds)

    def add_seal(self, tree_size: int, root: bytes) -> None:
        self._execute("INSERT OR REPLACE INTO seal VALUES (?, ?, NULL)", (tree_size, root))

    def finish(self) -> None:
        """Bring everything into the one file and give it up. Raises sqlite3.Error, OSError."""
        self._close_log()
        self._execute(f"PRAGMA busy_timeout = {_READERS_PATIENCE_MS}")
        [busy, *_] = self._execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        alone = not busy and self._leave_log_mode()
        if alone:
            self._tighten()
        self._connection.close()
        if not busy and not alone:
            self._turn_back()
        self._lock.release()

    def abandon(self) -> None:
        """Give the file up as it is: what was committed stays."""
        self._close_log()
        self.roll_back()
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._lock.release()

    def _close_log(self) -> None:
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def _insert_rows(self) -> None:
        """Events and blobs that were added: many rows a statement take half the time."""
        events, self._events = self._events, []
        blobs, self._blobs = self._blobs, []
        self._insert("INSERT INTO event VALUES ", events)
        # In the order of their numbers: a table grows fastest at its end.
        self._insert("INSERT INTO blob VALUES ", sorted(blobs, key=itemgetter(0)))

    def _insert(self, into: str, rows: list[_Row]) -> None:
        for start in range(0, len(rows), _ROWS_A_STATEMENT):
            some = rows[start : start + _ROWS_A_STATEMENT]
            sql = into + _places(len(some[0]), len(some))
            self._execute(sql, tuple(chain.from_iterable(some)))

    def _leave_log_mode(self) -> bool:
        """Whether SQLite could: a reader that has the file open keeps it from changing the mode."""
        self._execute("PRAGMA busy_timeout = 0")
        with contextlib.suppress(sqlite3.OperationalError):
            return bool(self._execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",))
        return False

    def _tighten(self) -> None:
        """Close the gaps that arriving bodies and packed frames have left, if that is quick.

        It is all there already: where this fails (no room, a reader in between) it stays as it is.
        """
        size = self.path.stat().st_size
        if size > _TIGHTENED_AT_MOST or (size > _SMALL_AT_MOST and not self._is_loose()):
            return
        with contextlib.suppress(sqlite3.Error):
            self._execute("PRAGMA temp_store = MEMORY")
            if size <= _SMALL_AT_MOST:
                self._execute(f"PRAGMA page_size = {form.SMALL_PAGE_SIZE}")
            self._execute("VACUUM")

    def _is_loose(self) -> bool:
        """Whether gaps are more than a sixteenth of the file."""
        [pages] = self._execute("PRAGMA page_count").fetchone()
        [free] = self._execute("PRAGMA freelist_count").fetchone()
        return bool(free * _GAPS > pages)

    def _turn_back(self) -> None:
        """Mark the file as out of write-ahead mode by hand: its log is empty, readers are on it.

        Bytes 18 and 19 of the header are the write and read version (SQLite file format, section
        1.3.3): 2 is WAL, 1 is not. Readers that have the file open go on with what they hold.
        """
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(descriptor, b"\x01\x01", _HEADER_MODES.start)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        remove_companions(self.path)


def mark_as_in_log_mode(descriptor: int) -> None:
    """Mark a tape that is one whole file as in write-ahead mode; any other file is left as it is.

    SQLite would make a rollback journal and remove it again, to change these two bytes.
    """
    header = os.pread(descriptor, _IDENTITY.stop, 0)
    if header[_IDENTITY] == form.APPLICATION_ID.to_bytes(4) and header[_HEADER_MODES] == b"\1\1":
        os.pwrite(descriptor, _LOG_MODE, _HEADER_MODES.start)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep_source(source: Path, output: Path) -> None:
    """A tape made out of another never takes that one's place. Raises TapeExists."""
    with contextlib.suppress(OSError):
        if output.samefile(source):
            raise TapeExists(
                f"{output} is the tape that it comes from, and would be lost",
                hint="name another file",
            )


@cache
def _places(width: int, rows: int) -> str:
    """Where the values of so many rows go."""
    return ", ".join([f"({', '.join('?' * width)})"] * rows)


def _claim(path: Path, *, overwrite: bool) -> WriterLock:
    """Create the file, ours alone, and lock it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    if overwrite:
        _clear(path)
    try:
        descriptor = os.open(path, flags, stat.S_IRUSR | stat.S_IWUSR)
    except FileExistsError as error:
        raise TapeExists(
            f"{path} is there already", hint="name another file, or pass --force to replace it"
        ) from error
    lock = WriterLock.take(path, descriptor)
    if not lock.holds(path):
        lock.release()
        raise busy(path)
    # SQLite would take the log of a tape that was once here for this one's.
    remove_companions(path)
    return lock


def _clear(path: Path) -> None:
    """Remove the tape at `path`, unless someone is writing it; nothing else is ever removed."""
    if not path.exists():
        return
    if not path.is_file():
        code = errno.EISDIR if path.is_dir() else errno.EINVAL
        raise OSError(code, os.strerror(code))
    if not _is_tape(path):
        raise TapeExists(
            f"{path} is there already and is no tape", hint="name another file, or remove it first"
        )
    lock = WriterLock.take(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    try:
        remove(path)
    finally:
        lock.release()


def _is_tape(path: Path) -> bool:
    """Whether a file is a tape, or what is left of one whose recorder died at once (nothing)."""
    with path.open("rb") as file:
        header = file.read(_IDENTITY.stop)
    return not header or header[_IDENTITY] == form.APPLICATION_ID.to_bytes(4)


@cache
def _empty() -> bytes:
    """An empty tape as it is written: copied, it takes half the time of making the tables anew."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"PRAGMA page_size = {form.PAGE_SIZE}")
    connection.execute(f"PRAGMA application_id = {form.APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {form.VERSION}")
    for table in form.TABLES:
        connection.execute(table)
    data = bytearray(connection.serialize())
    connection.close()
    data[_HEADER_MODES] = _LOG_MODE
    return bytes(data)


def remove_companions(path: Path) -> None:
    """Remove what SQLite kept beside the file."""
    for suffix in SUFFIXES:
        beside(path, suffix).unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove the file and what is beside it."""
    remove_companions(path)
    path.unlink(missing_ok=True)
