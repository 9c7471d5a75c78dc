"""What children wrote where no snapshot looks: named, since a replay cannot give it back.

Knows files only by how they stand; what was in them is not read.
"""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rerail.workspace.seen import Seen

WHAT = "files that a child wrote are in no snapshot"
_MOST = 100


def changed(before: Mapping[str, str], folders: Sequence[Seen]) -> list[str]:
    """Which of these paths stand otherwise than before, and are in none of the folders."""
    found = (path for path, state in before.items() if _stamp(path) != state)
    return sorted(outside(found, folders))[:_MOST]


def outside(paths: Iterable[str], folders: Sequence[Seen]) -> list[str]:
    """Those that are in none of the folders, wherever links may lead."""
    places = [seen.place.resolve() for seen in folders]
    return [path for path in paths if not any(map(_real(path).is_relative_to, places))]


def is_there(path: str) -> bool:
    """Whether anything is at a path."""
    return os.path.lexists(path)


def _real(path: str) -> Path:
    """A link is where it is, not where it leads."""
    place = Path(path)
    return place.parent.resolve() / place.name


def _stamp(path: str) -> str:
    """The same as the probes' (`_rerail_written`, `written.cjs`)."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(found.st_mode):
        return "other" if found.st_mode & stat.S_ISVTX else f"{found.st_mtime_ns}"
    if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
        return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}.{found.st_ctime_ns}"
    return "other"
