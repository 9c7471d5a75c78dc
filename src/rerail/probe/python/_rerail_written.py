"""What children write where no snapshot looks: noticed as it happens, never stopped.

Whoever starts a child notes how the paths stand that its words name, and the recorder looks at them
again at its end. A Python that is part of a child tells of each file that it opens for writing.
"""

import os
import stat
import sys

from _rerail_run import RUN, _inside, _quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Sequence, Set

MOST_NAMED = 32
MOST_WRITTEN = 1000
NOWHERE = ("/dev/", "/proc/", "/sys/")
_SEPARATORS = str.maketrans(dict.fromkeys("'\"`<>|&;()=,:\t\n", " "))
_PLACES = ("HOME", "TMPDIR")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_AT = {
    "open": 0, "os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1, "os.truncate": 0,
    "sqlite3.connect": 0,
}  # fmt: skip
"""Which argument of what Python tells of is a path that is there afterwards (audit events)."""


def named(words: "Sequence[str]", folder: str) -> "Dict[str, str]":
    """How each thing stands that these words may name by a path, and the folder they are said in.

    What is made right in that folder, under a mere name, is seen by the folder.
    """
    found = {folder: stamp(folder)}
    for word in " ".join(words).translate(_SEPARATORS).split():
        if "/" not in word:
            continue
        if len(found) >= MOST_NAMED:
            break
        path = os.path.normpath(os.path.join(folder, _expanded(word)))
        if word[:1] != "-" and path not in found and not path.startswith(NOWHERE):
            found[path] = stamp(path)
    return {path: state for path, state in found.items() if state != "other"}


def _expanded(word: str) -> str:
    """As a shell would write it, as far as a place goes."""
    if word[:2] == "~/":
        word = "$HOME" + word[1:]
    if word[:1] == "$":
        for name in _PLACES:
            for spelled in ("$" + name, "${" + name + "}"):
                if word.startswith(spelled + "/"):
                    return os.environ.get(name, "") + word[len(spelled) :]
    return word


def stamp(path: str) -> str:
    """What changes when something is written there; empty where nothing is."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(found.st_mode):
        # What everybody writes into says nothing of a child.
        return "other" if found.st_mode & stat.S_ISVTX else "%d" % found.st_mtime_ns
    if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
        return "%d.%d.%d.%d" % (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return "other"


def install() -> None:
    """In a recording, have a Python that is part of a child tell what it writes."""
    if RUN.settings["mode"] != "record" or _inside() == "0":
        return
    told: "Set[str]" = set()

    def hear(event: str, arguments: "Any") -> None:
        at = _AT.get(event)
        if at is None:
            return
        try:
            if event == "open" and not arguments[2] & _WRITING:
                return
            path = os.path.abspath(os.fsdecode(arguments[at]))
            if path in told or len(told) == MOST_WRITTEN or _is_ours(path):
                return
            told.add(path)
            RUN.write(b"wrote\t%s\n" % _quoted(path).encode("ascii"))
        except Exception:
            return  # A descriptor, or a folder that is gone. Raising would stop the program.

    sys.addaudithook(hear)


def _is_ours(path: str) -> bool:
    """Python's own caches, the run's folder, and what is no file."""
    return path.startswith((*NOWHERE, RUN.folder)) or "/__pycache__/" in path + "/"
