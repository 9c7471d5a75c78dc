"""Pythons of a run that never said hello: what they read of clock and random is not on the tape.

Looked for whenever a model is asked, so one that asks for it itself is always seen. Knows processes
only from /proc.
"""

import os
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from typing import Final

from rerail.clock import monotonic_ns
from rerail.launch.family import PROC, arguments_of, family_of
from rerail.launch.run_folder import VARIABLE
from rerail.probe import paths

PATIENCE_NS: Final = 1_000_000_000
"""How long a Python with nothing in its way may take to say hello."""


class Unheard:
    """Finds them, and tells of each once."""

    def __init__(self, missing: Callable[[str, str, int], None]) -> None:
        self._missing = missing
        self._settled: set[int] = set()
        self._waiting: dict[int, int] = {}

    def look(self, heard: Container[int]) -> None:
        """Look at the descendants of this process; `heard` are those that said hello."""
        now = monotonic_ns()
        for pid in family_of(os.getpid()):
            if pid in self._settled or pid in heard or not _is_python(pid):
                continue
            why = _in_its_way(pid)
            if not why and now - self._waiting.setdefault(pid, now) < PATIENCE_NS:
                continue
            self._settled.add(pid)
            words = " ".join(arguments_of(pid))[:200]
            detail = f"pid {pid} ({words}): {why or 'it said no hello'}"
            self._missing("clock and random of a Python", detail, 0)


def _is_python(pid: int) -> bool:
    with suppress(OSError):
        program = os.readlink(f"{PROC}/{pid}/exe")  # noqa: PTH115 - asked while an agent waits
        return program.rpartition("/")[2].startswith(("python", "pypy"))
    return False


def _in_its_way(pid: int) -> str:
    """Why it cannot load the probe; empty where nothing is seen."""
    for option in _options(arguments_of(pid)[1:]):
        if option in "SIE":
            return f"it was started with -{option}"
    try:
        variables = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    if not any(variable.startswith(f"{VARIABLE}=".encode()) for variable in variables):
        return "its environment was replaced"
    folder = os.fsencode(paths().python)
    for variable in variables:
        if variable.startswith(b"PYTHONPATH=") and folder in variable[11:].split(b":"):
            return ""
    return "its PYTHONPATH was replaced"


def _options(words: list[str]) -> Iterator[str]:
    """The one-letter options in front of a script, a module or code."""
    takes_next = False
    for word in words:
        if takes_next:
            takes_next = False
            continue
        if not word.startswith("-") or word.startswith("--"):
            return
        for at, letter in enumerate(word[1:], start=2):
            yield letter
            if letter in "cm":
                return
            if letter in "WX":
                takes_next = at == len(word)
                break
