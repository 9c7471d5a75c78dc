"""Going on with a tape whose writer is gone: what its successor must know of what is there.

Only for a run that outlives its recorder, a durable script: its states are on the tape. What
another recorder left is repaired into a new file instead (`repair`).
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from rerail.errors import TapeAltered, TapeEnded
from rerail.tape.codec import decode
from rerail.tape.companions import with_companions
from rerail.tape.failure import cannot_write
from rerail.tape.keeper import Keeper
from rerail.tape.lock import WriterLock
from rerail.tape.opening import REPAIR, check_identity
from rerail.tape.records import RunEnded, RunLost
from rerail.tape.storage import Storage, mark_as_in_log_mode
from rerail.tape.stored import StoredEvents
from rerail.tape.writer import TapeWriter


def reopen(path: Path) -> TapeWriter:
    """Go on with a tape that has no end and that nobody writes.

    Whoever does so answers for what is there: see that it is intact before.

    Raises:
        TapeBusy, TapeUnreadable, TapeAltered, TapeWriteFailed: It cannot be gone on with.
        TapeEnded: Its run has ended.
    """
    try:
        lock = WriterLock.take(path, os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        with ExitStack() as where_it_fails:
            where_it_fails.callback(lock.release)
            events = _unended(path)
            mark_as_in_log_mode(lock.descriptor)
            writer = _taken_up(path, lock, events)
            where_it_fails.pop_all()
    except ValueError as error:
        what = f"cannot go on with {path}: its events cannot be read ({error})"
        raise TapeAltered(what, hint=REPAIR.format(path)) from error
    except (sqlite3.Error, OSError) as error:
        raise cannot_write(path, error) from error
    return writer


def settle(path: Path) -> None:
    """Bring into the file what a writer that was killed at its very end has left beside it.

    For a tape that has ended; one that is alone is not touched. Raises TapeBusy, TapeWriteFailed.
    """
    if not any(place.exists() for place in with_companions(path)[1:]):
        return
    try:
        lock = WriterLock.take(path, os.open(path, os.O_RDWR | os.O_CLOEXEC))
        storage = Storage(path, lock, _connected(path))
        try:
            storage.finish()
        except BaseException:
            storage.abandon()
            raise
    except (sqlite3.Error, OSError) as error:
        raise cannot_write(path, error) from error


def _unended(path: Path) -> list[bytes]:
    """Its events; what is refused is left as it is. Raises TapeUnreadable, TapeEnded, Damaged."""
    with closing(_connected(path)) as connection:
        check_identity(path, connection)
        events = list(_events(connection))
        if not events or isinstance(decode(events[-1]), RunEnded | RunLost):
            raise TapeEnded(f"cannot go on with {path}: its run has ended", hint="fork it instead")
    return events


def _taken_up(path: Path, lock: WriterLock, events: list[bytes]) -> TapeWriter:
    connection = _connected(path)
    storage = Storage(path, lock, connection)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        keeper = Keeper(storage)
        storage.begin()
        keeper.take_up(events)
        storage.commit()
        return TapeWriter(storage, keeper=keeper, events=len(events), bodies=storage.last_body())
    except BaseException:
        storage.abandon()
        raise


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _events(connection: sqlite3.Connection) -> Iterator[bytes]:
    stored = StoredEvents(connection)
    for seq in range(1, stored.last() + 1):
        yield stored.read(seq) or b""
