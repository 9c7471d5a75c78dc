"""The file while it is written, and how it is closed."""

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from rerail.errors import TapeExists, TapeWriteFailed
from rerail.tape import form
from rerail.tape.companions import SUFFIXES
from rerail.tape.storage import Storage, remove


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.tape"


def filled(path: Path, rows: int = 20) -> Storage:
    storage = Storage.create(path)
    storage.begin()
    for number in range(1, rows + 1):
        storage.add_event(number, 5, b"event")
        storage.add_part(number, 1, 0, 3000, b"", os.urandom(3000))
    storage.commit()
    return storage


def test_a_new_tape_has_its_identity_at_once(path: Path) -> None:
    storage = Storage.create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert connection.execute("PRAGMA application_id").fetchone() == (form.APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    found = [sql for [sql] in connection.execute("SELECT sql FROM sqlite_schema")]
    assert found == list(form.TABLES)
    connection.close()
    storage.finish()


def test_the_umask_does_not_open_a_tape_to_others(path: Path) -> None:
    before = os.umask(0)
    try:
        storage = Storage.create(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        storage.finish()
    finally:
        os.umask(before)


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 200])
def test_any_number_of_rows_in_any_order(path: Path, rows: int) -> None:
    storage = Storage.create(path)
    storage.begin()
    for number in range(rows, 0, -1):
        storage.add_blob(number, b"digest", number, 1, 0, 0, b"data %d" % number)
        storage.add_event(number, number, b"event %d" % number)
    storage.commit()
    storage.finish()
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT id, size, data FROM blob ORDER BY id").fetchall()
    assert found == [(number, number, b"data %d" % number) for number in range(1, rows + 1)]
    found = connection.execute("SELECT seq, size, data FROM event ORDER BY seq").fetchall()
    assert found == [(number, number, b"event %d" % number) for number in range(1, rows + 1)]
    connection.close()


def test_what_is_rolled_back_is_not_there(path: Path) -> None:
    storage = Storage.create(path)
    storage.begin()
    storage.add_event(1, 5, b"event")
    storage.roll_back()
    storage.begin()
    storage.add_event(1, 6, b"other!")
    storage.commit()
    storage.finish()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT size FROM event").fetchall() == [(6,)]
    connection.close()


def test_a_small_tape_gives_back_what_it_does_not_need(path: Path) -> None:
    storage = filled(path)
    storage.begin()
    storage.drop_parts(0)
    storage.commit()
    storage.finish()
    assert path.stat().st_size < 5000
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA page_size").fetchone() == (form.SMALL_PAGE_SIZE,)
    assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
    connection.close()


def test_a_larger_tape_keeps_its_pages(path: Path) -> None:
    storage = filled(path, rows=600)
    storage.finish()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA page_size").fetchone() == (form.PAGE_SIZE,)
    connection.close()


def test_a_tape_that_cannot_be_tightened_stays_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = filled(path)

    def no_room(statement: str, *values: object) -> sqlite3.Cursor:
        if statement == "VACUUM":
            raise sqlite3.OperationalError("database or disk is full")
        return storage._connection.execute(statement, *values)

    monkeypatch.setattr(storage, "_execute", no_room)
    storage.finish()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM event").fetchone() == (20,)
    connection.close()


def test_a_reader_in_the_middle_of_reading_does_not_hold_up_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerail.tape.storage._READERS_PATIENCE_MS", 50)
    storage = filled(path)
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = reader.execute("SELECT seq FROM event")
    rows.fetchone()
    storage.begin()
    storage.add_event(21, 5, b"event")
    storage.commit()
    storage.finish()
    assert len(rows.fetchall()) == 19
    reader.close()
    again = sqlite3.connect(path)
    assert again.execute("SELECT count(*) FROM event").fetchone() == (21,)
    again.close()


def test_what_lies_beside_a_removed_tape_goes_too(path: Path) -> None:
    for suffix in ("", *SUFFIXES):
        Path(f"{path}{suffix}").touch()
    remove(path)
    assert list(path.parent.iterdir()) == []
    remove(path)


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_old_log_does_not_haunt_a_new_tape(path: Path, overwrite: bool) -> None:
    storage = filled(path)
    log = Path(f"{path}-wal").read_bytes()
    storage.finish()
    path.unlink()
    Path(f"{path}-wal").write_bytes(log)
    new = Storage.create(path, overwrite=overwrite)
    new.finish()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM event").fetchone() == (0,)
    connection.close()


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TapeWriteFailed, match="not an ordinary file"):
        Storage.create(tmp_path / "pipe", overwrite=True)
    with pytest.raises(TapeWriteFailed, match="it is a folder"):
        Storage.create(tmp_path, overwrite=True)
    with pytest.raises(TapeExists):
        Storage.create(tmp_path)
    assert (tmp_path / "pipe").is_fifo()


def test_a_disk_that_takes_half_of_an_empty_tape_is_full(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5000]))
    with pytest.raises(TapeWriteFailed, match="the disk is full"):
        Storage.create(path)
    assert not path.exists()
