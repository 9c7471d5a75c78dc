"""Which waiting calls would change a file, where, and whether the command may not: to be told.

The file system itself refuses (`mounts`); this only says what. A path is read before the kernel
reads it again, and links in it are followed as we see them.
"""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from rerail.sandbox import notify
from rerail.sandbox.bpf import Program, argument
from rerail.sandbox.machine import Architecture

OPENED: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
"""Only an open(2) with one of these can change anything."""

_AT_FDCWD: Final = (1 << 32) - 100
_LONGEST_PATH: Final = 4096
_PAGE: Final = 4096
_FREE: Final = ("/dev/", "/proc/", "/sys/")

_PLACES: Final = {
    "open": (None, 0),
    "creat": (None, 0),
    "openat": (0, 1),
    "openat2": (0, 1),
    "mkdir": (None, 0),
    "mkdirat": (0, 1),
    "rmdir": (None, 0),
    "unlink": (None, 0),
    "unlinkat": (0, 1),
    "rename": (None, 1),
    "renameat": (2, 3),
    "renameat2": (2, 3),
    "link": (None, 1),
    "linkat": (2, 3),
    "symlink": (None, 1),
    "symlinkat": (1, 2),
    "truncate": (None, 0),
}
"""By call: which argument is the folder that a path is relative to, and which is the path."""

_FLAGS_OF: Final = {"open": 1, "openat": 2}
_MAKES_NEW: Final = frozenset(_PLACES) - {"rmdir", "unlink", "unlinkat", "truncate"}


def add_rules(filter_: Program, machine: Architecture) -> None:
    """Have calls that may change files jump to "ask"; the number is loaded."""
    for name, number in machine.files.items():
        filter_.when_equal(number, f"flags of {name}" if name in _FLAGS_OF else "ask")


def add_details(filter_: Program, allow: int) -> None:
    """What the jumps above lead to."""
    for name, index in _FLAGS_OF.items():
        filter_.label(f"flags of {name}")
        filter_.load(argument(index))
        filter_.when_any_bit(OPENED, "ask")
        filter_.end(allow)


def refused_path(
    call: notify.Call, name: str, free: Sequence[str], *, mounted: bool = True
) -> str | None:
    """The path that a waiting call (`name` in `_PLACES`) is about to be refused, None if it is not.

    `free` are the folders that may be written. `mounted`: all else is mounted read-only, so a place
    that is not was made writable by the command itself. Where the user might not have written
    without a sandbox either, nothing is refused by it. Raises OSError.
    """
    path = path_of(call, name)
    if path.startswith(_FREE) or is_beneath(path, free):
        return None
    if "/__pycache__/" in path or path.endswith("/__pycache__"):
        return None  # a cache beside the code, which Python does without
    seen = Path(f"/proc/{call.pid}/root{path}")
    if not _would_change(seen, name, call):
        return None
    if mounted and not os.statvfs(seen.parent).f_flag & os.ST_RDONLY:
        return None
    return path if _is_ours(Path(path)) else None


def path_of(call: notify.Call, name: str) -> str:
    """The path in a waiting call, absolute, as its process sees it. Raises OSError."""
    folder, place = _PLACES[name]
    path = os.fsdecode(text(call.pid, call.arguments[place]))
    base = call.arguments[folder] & 0xFFFFFFFF if folder is not None else _AT_FDCWD
    return absolute(call.pid, path, "cwd" if base == _AT_FDCWD else f"fd/{base}")


def absolute(pid: int, path: str, start: str = "cwd") -> str:
    """A path of process `pid`, which begins in its entry `start` if it is relative."""
    if path.startswith("/"):
        return os.path.normpath(path)
    folder = os.readlink(f"/proc/{pid}/{start}")  # noqa: PTH115
    return os.path.normpath(f"{folder}/{path}")


def is_beneath(path: str, folders: Sequence[str]) -> bool:
    """Whether a path is in one of these folders, or one of them."""
    return any(f"{path}/".startswith(f"{folder}/") for folder in folders)


def text(pid: int, place: int) -> bytes:
    """A string ends before the next page, or goes on there: a page may be the last one."""
    read = b""
    while len(read) < _LONGEST_PATH:
        piece = notify.memory_of(pid, place, _PAGE - place % _PAGE)
        found, end, _ = piece.partition(b"\0")
        read += found
        if end or not piece:
            break
        place += len(piece)
    return read


def _would_change(seen: Path, name: str, call: notify.Call) -> bool:
    """Whether the call means something that can be changed, as far as its path says so."""
    try:
        mode = seen.lstat().st_mode
    except OSError:
        flags = call.arguments[_FLAGS_OF[name]] if name in _FLAGS_OF else os.O_CREAT
        return name in _MAKES_NEW and bool(flags & os.O_CREAT) and seen.parent.is_dir()
    if name in ("mkdir", "mkdirat"):
        return False
    if name in _FLAGS_OF and not call.arguments[_FLAGS_OF[name]] & ~os.O_CREAT & OPENED:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _is_ours(path: Path) -> bool:
    with suppress(OSError):
        return os.access(path if path.exists() else path.parent, os.W_OK)
    return False
