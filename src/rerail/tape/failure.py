"""From what the system says to what a person can mend: why a tape cannot be written."""

import errno
import os
import sqlite3
from pathlib import Path
from typing import Final

from rerail.errors import TapeWriteFailed

_FULL: Final = ("the disk is full", "free some space, or record to another disk")
_CAUSES: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: ("your disk quota is used up", "free some space, or record to another disk"),
    errno.ENOENT: ("the folder is not there", "make the folder first"),
    errno.ENOTDIR: ("part of the path is not a folder", "name a path inside a folder"),
    errno.EISDIR: ("it is a folder", "name a file inside it"),
    errno.EINVAL: ("it is not an ordinary file", "name a file that is not there yet"),
    errno.EACCES: ("permission denied", "record to a folder that you may write to"),
    errno.EPERM: ("permission denied", "record to a folder that you may write to"),
    errno.EROFS: ("the file system is read-only", "record to a folder that you may write to"),
    errno.EFBIG: ("the file is larger than this system allows", "raise the limit (ulimit -f)"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n)"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter name"),
}
_SQLITE_CAUSES: Final = {
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": ("the file became read-only", "record to a folder that you may write to"),
    "SQLITE_CORRUPT": ("the file was changed while it was written", "record to another file"),
    "SQLITE_NOTADB": ("the file was changed while it was written", "record to another file"),
}


def cannot_write(path: Path, error: Exception) -> TapeWriteFailed:
    """The error a person sees, with the mend that fits the cause."""
    reason, hint = _cause(path, error)
    return TapeWriteFailed(f"cannot write {path}: {reason}", hint=hint)


def _cause(path: Path, error: Exception) -> tuple[str, str]:
    if isinstance(error, FileNotFoundError) and path.parent.is_dir():
        return "it was removed while it was written", "leave a tape alone until its run has ended"
    if isinstance(error, OSError) and error.errno in _CAUSES:
        return _CAUSES[error.errno]
    name = getattr(error, "sqlite_errorname", "")
    for prefix, cause in _SQLITE_CAUSES.items():
        if name.startswith(prefix):
            return cause
    # Mapping the log's index onto a full disk fails as an input/output error, not as "full".
    if isinstance(error, sqlite3.Error) and _no_space_left(path):
        return _FULL
    return str(error) or type(error).__name__, "see whether the disk is sound, and record elsewhere"


def _no_space_left(path: Path) -> bool:
    try:
        status = os.statvfs(path.parent)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < 1 << 16
