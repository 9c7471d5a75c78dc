"""What may be beside a tape: by the names that SQLite itself gives."""

import sqlite3
from pathlib import Path

import pytest

from rerail.tape.companions import HOLDING, SUFFIXES, beside, with_companions


@pytest.mark.parametrize("mode", ["wal", "persist"])
def test_what_sqlite_leaves_is_among_them(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "run.tape"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    there = {found.name for found in tmp_path.iterdir()}
    connection.close()
    assert len(there) > 1
    assert there <= {found.name for found in with_companions(path)}


def test_the_tape_comes_first_and_its_whole_name_is_kept() -> None:
    path = Path("runs/task.1841.tape")
    assert beside(path, "-wal") == Path("runs/task.1841.tape-wal")
    assert with_companions(path, HOLDING)[0] == path
    assert len(with_companions(path)) == 1 + len(SUFFIXES)
    assert set(HOLDING) < set(SUFFIXES)
