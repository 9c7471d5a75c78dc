"""Who descends from this process, read from /proc. Knows nothing of why one asks."""

import os
import re
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

PROC: Final = Path("/proc")

_SHARED: Final = re.compile(rb"^\S+ .w.s \S+ \S+ \d+ +(/.*)$", re.MULTILINE)


class Relative(Struct, frozen=True):
    """A process, its parent and its session; `ended` where only its entry is left."""

    pid: int
    parent: int
    session: int
    ended: bool


def own_children() -> list[int]:
    """Our direct children, ended ones included; empty where the kernel keeps no such list."""
    found: list[int] = []
    for task in (PROC / "self" / "task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_bytes().split())
    return found


def is_childless(*, but: Container[int] = ()) -> bool:
    """Whether the kernel's own list says that we have no child but these; False where it keeps
    none.
    """
    lists = any((PROC / "self" / "task").glob("*/children"))
    return lists and all(pid in but for pid in own_children())


def family_of(pid: int) -> list[int]:
    """The processes below `pid`, by the lists of children that the kernel keeps: cheap where they
    are few, and empty where it keeps none."""
    found: list[int] = []
    generation = [pid]
    while generation:
        parent = generation.pop()
        found.append(parent)
        tasks = f"{PROC}/{parent}/task"
        with suppress(OSError):
            for task in os.listdir(tasks):  # noqa: PTH208 - asked while an agent waits
                with open(f"{tasks}/{task}/children", "rb", buffering=0) as children:  # noqa: PTH123
                    generation += map(int, children.read().split())
    return found[1:]


def descendants_of(pid: int, *, but: Container[int] = ()) -> list[int]:
    """The processes below `pid` that still run, in the order of their numbers; `but` these, and
    what is below them."""
    children: dict[int, list[Relative]] = {}
    for relative in _everybody():
        children.setdefault(relative.parent, []).append(relative)
    found: list[int] = []
    generation = [pid]
    while generation:
        born = [
            child
            for parent in generation
            for child in children.get(parent, [])
            if child.pid not in but
        ]
        found += [child.pid for child in born if not child.ended]
        generation = [child.pid for child in born]
    return sorted(found)


def mapped_by(pids: Iterable[int]) -> set[bytes]:
    """The files that these processes can write as memory which they share with the file."""
    found: set[bytes] = set()
    for pid in pids:
        with suppress(OSError):
            found.update(_SHARED.findall((PROC / str(pid) / "maps").read_bytes()))
    return found


def alive_in_session(session: int) -> list[int]:
    """The processes of a session (setsid(2)) that still run; none for session 0."""
    found = (one.pid for one in _everybody() if one.session == session and not one.ended)
    return sorted(found) if session else []


def alive_with(name: str, value: str) -> list[int]:
    """Other processes that were started with this variable and still run, as far as we may look."""
    wanted = os.fsencode(f"{name}={value}")
    others = (one.pid for one in _everybody() if not one.ended and one.pid != os.getpid())
    return sorted(pid for pid in others if wanted in _environment(pid))


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _everybody() -> Iterator[Relative]:
    if not PROC.is_dir():
        return
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (relative := _read(int(folder.name))) is not None:
            yield relative


def _read(pid: int) -> Relative | None:
    """The second field of stat is the name in parentheses, and may hold any byte (proc(5))."""
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    state, parent, _, session = stat[stat.rindex(b")") + 2 :].split(maxsplit=4)[:4]
    return Relative(pid, int(parent), int(session), state in (b"Z", b"X"))


def arguments_of(pid: int) -> list[str]:
    """The words a process was started with; empty where it is gone."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [word.decode(errors="replace") for word in words.split(b"\0")[:-1]]
