"""Why a tape cannot be written, in words."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from rerail.tape.failure import cannot_write


def sqlite_error(name: str, message: str = "said SQLite") -> sqlite3.Error:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "x"), "the disk is full"),
        (OSError(errno.EROFS, "x"), "the file system is read-only"),
        (OSError(errno.EACCES, "x"), "permission denied"),
        (OSError(errno.EIO, "Input/output error"), "[Errno 5] Input/output error"),
        (sqlite_error("SQLITE_FULL"), "the disk is full"),
        (sqlite_error("SQLITE_READONLY_DBMOVED"), "the file became read-only"),
        (sqlite_error("SQLITE_NOTADB"), "the file was changed while it was written"),
        (sqlite_error("SQLITE_IOERR_WRITE", "disk I/O error"), "disk I/O error"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_the_cause_is_named_with_a_mend(tmp_path: Path, error: Exception, reason: str) -> None:
    failed = cannot_write(tmp_path / "x.tape", error)
    assert failed.what == f"cannot write {tmp_path / 'x.tape'}: {reason}"
    assert failed.hint
    assert failed.exit_code == 125


def test_an_input_output_error_on_a_full_disk_is_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.statvfs_result((4096, 4096, 100, 0, 0, 10, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    error = sqlite_error("SQLITE_IOERR_SHMSIZE", "disk I/O error")
    assert "the disk is full" in cannot_write(tmp_path / "x.tape", error).what


def test_a_folder_that_is_gone_is_no_trouble() -> None:
    failed = cannot_write(Path("/no/such/place/x.tape"), sqlite_error("SQLITE_IOERR"))
    assert failed.hint
