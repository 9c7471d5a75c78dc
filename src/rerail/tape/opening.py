"""How to read a tape file without touching it, whatever state its writer left it in.

A finished tape is one file and is opened as immutable. One that is being written is read along
with, through its log. One whose writer died is a pair, the file and its log (`-wal`): both are
copied to a private folder and put together there. Nothing is written beside or into the tape.
"""

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from rerail.errors import NothingRecorded, TapeUnreadable
from rerail.tape import form
from rerail.tape.companions import HOLDING, JOURNAL, LOG, beside
from rerail.tape.lock import being_written, written_here

_MAGIC: Final = b"SQLite format 3\x00"
_HEADER_SIZE: Final = 100
_LOG_MODE: Final = b"\x02\x02"
"""What bytes 18 and 19 say while a tape is written (file format, section 1.3.3)."""
_SUPER_JOURNAL: Final = bytes.fromhex("d9d505f920a163d7")
_ATTEMPTS: Final = 20
_PAUSE_SECONDS: Final = 0.01

REPAIR: Final = "save what can be read with `rerail verify --repair NEW.tape {}`"
"""The hint of every error that a repair may mend."""

NOTHING_SAVED: Final = "nothing can be saved from it; take another copy"
"""The hint where a repair cannot mend it either."""

_VALUE_SIZE: Final = 64 << 20
_WRITERS_PATIENCE_MS: Final = 5000


@dataclass(slots=True)
class Opened:
    """A tape's connection, whether its writer lives, and the folder of copies, if any."""

    connection: sqlite3.Connection
    live: bool
    aside: Path | None = None

    def close(self) -> None:
        """Close it, and remove the copies."""
        self.connection.close()
        if self.aside is not None:
            shutil.rmtree(self.aside, ignore_errors=True)


def open_tape_file(path: Path, *, tolerant: bool = False) -> Opened:
    """Open the file at `path` for reading. Raises TapeUnreadable with the mend that fits.

    `tolerant` is for saving what can be saved: a file whose end is missing is opened too.
    """
    attempts = _ATTEMPTS
    while True:
        _check_file(path)
        attempts -= 1
        live = being_written(path)
        if not live and not tolerant:
            _check_length(path)
        try:
            return _connect_and_check(path, live=live, tolerant=tolerant)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # Its writer may just be closing it: the log is gone between one look and the next.
            if not live or not attempts:
                raise _damaged(path, error) from error
            time.sleep(_PAUSE_SECONDS)


def _connect_and_check(path: Path, *, live: bool, tolerant: bool) -> Opened:
    opened = _connect(path, live=live)
    try:
        _guard_against_strangers(opened.connection)
        if tolerant:
            # SQLite then no longer refuses a file that is shorter than its header says.
            opened.connection.execute("PRAGMA writable_schema = ON")
        check_identity(path, opened.connection)
    except BaseException:
        opened.close()
        raise
    return opened


def _check_file(path: Path) -> None:
    """Refuse a file that is no tape at first sight."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise _unreadable(path, "it is a folder", "name a .tape file inside it")
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable(path, "it is not a file", "name a .tape file")
        if written_here(path):
            return
        header = _header(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _unreadable(path, "no such file", "look for tapes with `ls runs/`") from error
    except PermissionError as error:
        hint = "a tape is readable by its owner alone: ask for a copy, or read it as its owner"
        raise _unreadable(path, "permission denied", hint) from error
    except OSError as error:
        raise _unreadable(path, error.strerror or "it cannot be read", None) from error
    _check_header(path, header)


def is_database(path: Path) -> bool:
    """Whether a file begins as a tape does."""
    try:
        return _header(path).startswith(_MAGIC)
    except OSError:
        return False


def _check_length(path: Path) -> None:
    """Refuse a file whose end is missing. Only of a file that nobody writes is that sure."""
    missing = _size_by_header(_header(path)) - path.stat().st_size
    if missing > 0 and not any(_size(beside(path, suffix)) for suffix in HOLDING):
        raise _unreadable(path, f"its last {missing} bytes are missing", REPAIR.format(path))


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER_SIZE)


def _check_header(path: Path, header: bytes) -> None:
    if not header:
        hint = "its recorder ended before anything was kept; record again"
        raise _unreadable(path, "the file is empty", hint)
    if not header.startswith(_MAGIC[: len(header)]):
        raise _unreadable(path, "it is not a tape", "name a file that `rerail record` has written")
    if len(header) < _HEADER_SIZE:
        raise _unreadable(path, f"only {len(header)} bytes of it are left", NOTHING_SAVED)
    if int.from_bytes(header[68:72], "big") not in (0, form.APPLICATION_ID):
        hint = "name a file that `rerail record` has written"
        raise _unreadable(path, "it is an SQLite database, but not a tape", hint)


def _size_by_header(header: bytes) -> int:
    """How large SQLite says the file is, 0 where it does not (file format, section 1.3.7)."""
    if header[24:28] != header[92:96]:
        return 0
    page_size = int.from_bytes(header[16:18], "big")
    return int.from_bytes(header[28:32], "big") * (1 << 16 if page_size == 1 else page_size)


def _connect(path: Path, *, live: bool) -> Opened:
    if live:
        return Opened(_sqlite(path, "mode=ro"), live=True)
    if any(_size(beside(path, suffix)) for suffix in HOLDING):
        return _connect_aside(path)
    return Opened(_sqlite(path, "mode=ro&immutable=1"), live=False)


def _connect_aside(path: Path) -> Opened:
    """Put file and log together in a folder of our own."""
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix="rerail-"))
        copy = folder / "tape"
        shutil.copyfile(path, copy)
        for suffix in HOLDING:
            if _size(beside(path, suffix)):
                shutil.copyfile(beside(path, suffix), beside(copy, suffix))
        _disarm_journal(beside(copy, JOURNAL))
        return Opened(_sqlite(copy, "mode=rw"), live=False, aside=folder)
    except OSError as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        reason = f"it cannot be copied aside to be put together with its log ({error.strerror})"
        raise _unreadable(path, reason, "set TMPDIR to a folder with room for it") from error


def _disarm_journal(journal: Path) -> None:
    """Make SQLite overlook a "super-journal" that a journal names: it may delete that file.

    The name stands at the end, before eight bytes by which it is known (sqlite.org/fileformat2.html
    has the journal; the trailer is in pager.c). A tape's journal never has one. A byte behind them
    hides them; without them, others before them might be the last.
    """
    if _size(journal) >= len(_SUPER_JOURNAL):
        with journal.open("r+b") as file:
            file.seek(-len(_SUPER_JOURNAL), 2)
            if file.read() == _SUPER_JOURNAL:
                file.write(b"\0")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _sqlite(path: Path, query: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(path.absolute()))}?{query}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _guard_against_strangers(connection: sqlite3.Connection) -> None:
    """Nothing in a file from elsewhere may run, write, or ask for unbounded memory."""
    connection.execute(f"PRAGMA busy_timeout = {_WRITERS_PATIENCE_MS}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_SIZE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")


def check_identity(path: Path, connection: sqlite3.Connection) -> None:
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    schema = connection.execute("SELECT sql FROM sqlite_schema ORDER BY rowid").fetchall()
    if not schema and application in (0, form.APPLICATION_ID):
        raise nothing_recorded(path)
    if application != form.APPLICATION_ID:
        hint = "name a file that `rerail record` has written"
        raise _unreadable(path, "it is an SQLite database, but not a tape", hint)
    if version > form.VERSION:
        reason = f"its format is version {version}, and this rerail reads up to {form.VERSION}"
        raise _unreadable(path, reason, "update rerail")
    if version < 1 or [sql for [sql] in schema] != list(form.TABLES):
        raise _unreadable(path, "its tables are not those of a tape", REPAIR.format(path))


def nothing_recorded(path: Path) -> NothingRecorded:
    """The error for a tape without an event: perhaps it was taken away from its log."""
    hint = "its recorder ended before anything was kept; record again"
    if _header(path)[18:20] == _LOG_MODE and not beside(path, LOG).exists():
        hint = f"bring its log, {path.name}{LOG}, here too from where it was recorded"
    return NothingRecorded(f"cannot open tape {path}: nothing has been recorded on it", hint=hint)


def _damaged(path: Path, error: Exception) -> TapeUnreadable:
    # A name in the schema that is no text makes SQLite's own message undecodable.
    said = "malformed database schema" if isinstance(error, UnicodeDecodeError) else str(error)
    return _unreadable(path, f"it is damaged ({said})", REPAIR.format(path))


def _unreadable(path: Path, reason: str, hint: str | None) -> TapeUnreadable:
    return TapeUnreadable(f"cannot open tape {path}: {reason}", hint=hint)
