"""Folders that a killed process left: nobody holds the lock in them any more. Knows no contents.

Each has a file that is locked as long as its process lives, and that is empty until it is.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path


def hold(lock: Path, content: bytes) -> int:
    """Make a folder's lock and hold it until the descriptor is closed. Raises OSError."""
    with ExitStack() as where_it_fails:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(lock, flags, 0o600)
        where_it_fails.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Only now: a process that is at this very point holds nothing yet, and is not dead.
        done = 0
        while done < len(content):  # what was written in part meets its error the next time
            done += os.pwrite(descriptor, content[done:], done)
        where_it_fails.pop_all()
    return descriptor


def left_in(place: Path, lock: str, *, prefix: str = "") -> Iterator[tuple[Path, int]]:
    """Our folders that were left in `place`, each with its lock, which is held meanwhile."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if not entry.name.startswith(prefix) or (held := _taken(entry, lock)) < 0:
                continue
            try:
                yield Path(entry.path), held
            finally:
                os.close(held)


def _taken(entry: "os.DirEntry[str]", lock: str) -> int:
    """The lock of a folder that was left; -1 where it was not."""
    with suppress(OSError), ExitStack() as closing:
        ours = entry.stat(follow_symlinks=False).st_uid == os.geteuid()
        if not ours or not entry.is_dir(follow_symlinks=False):
            return -1
        held = os.open(f"{entry.path}/{lock}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        closing.callback(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(held).st_size:
            closing.pop_all()
            return held
    return -1
