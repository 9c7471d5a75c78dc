"""Pythons and Nodes of a run that never said hello: their clock and random are not on the tape.

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
"""How long one with nothing in its way may take to say hello."""
_PERMISSIONS: Final = ("--permission", "--experimental-permission")


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
            if pid in self._settled or pid in heard or not (kind := _interpreter(pid)):
                continue
            why = _in_pythons_way(pid) if kind == "Python" else _in_nodes_way(pid)
            if not why and now - self._waiting.setdefault(pid, now) < PATIENCE_NS:
                continue
            self._settled.add(pid)
            words = " ".join(arguments_of(pid))[:200]
            detail = f"pid {pid} ({words}): {why or 'it said no hello'}"
            self._missing(f"clock and random of a {kind}", detail, 0)


def _interpreter(pid: int) -> str:
    """Which of those that have a probe this process runs; empty for none of them."""
    with suppress(OSError):
        program = os.readlink(f"{PROC}/{pid}/exe")  # noqa: PTH115 - asked while an agent waits
        name = program.rpartition("/")[2]
        if name.startswith(("python", "pypy")):
            return "Python"
        if name in ("node", "nodejs"):
            return "Node"
    return ""


def _in_pythons_way(pid: int) -> str:
    """Why it cannot load the probe; empty where nothing is seen."""
    for option in _options(arguments_of(pid)[1:]):
        if option in "SIE":
            return f"it was started with -{option}"
    folder = os.fsencode(paths().python)
    return _lost(pid, b"PYTHONPATH", lambda value: folder in value.split(b":"))


def _in_nodes_way(pid: int) -> str:
    """The same for Node: its permission model lets it read the preload, and nothing beside it."""
    for word in arguments_of(pid)[1:]:
        if word in _PERMISSIONS:
            return f"it was started with {word}"
        if not word.startswith("-"):
            break
    # The folders before these may be escaped.
    preload = "/".join(paths().node_preload.parts[-4:]).encode()
    return _lost(pid, b"NODE_OPTIONS", lambda value: preload in value)


def _lost(pid: int, name: bytes, brings_it: Callable[[bytes], bool]) -> str:
    """What its environment lacks of what brings the probe in."""
    try:
        variables = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    if not any(variable.startswith(f"{VARIABLE}=".encode()) for variable in variables):
        return "its environment was replaced"
    values = [rest for found, _, rest in (v.partition(b"=") for v in variables) if found == name]
    return "" if any(map(brings_it, values)) else f"its {name.decode()} was replaced"


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
