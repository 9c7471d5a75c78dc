"""Which tapes in a folder are of one run: its own, and those that go on with it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rerail.errors import RerailError, UserError
from rerail.tape.reader import Tape
from rerail.tape.records import UnknownEvent

_LOOKED_AT: Final = 8
"""Events at a tape's beginning among which `task.follows` stands, if it has one."""


class NoSuchRun(UserError):
    """No tape of that run is in the folders looked into."""


@dataclass(frozen=True, slots=True)
class TapeOfRun:
    """A tape, by its beginning: whose it is, what it goes on with, when it began."""

    path: Path
    run_id: str
    follows: str
    began: int


def tapes_of_run(run_id: str, folders: Iterable[Path]) -> list[TapeOfRun]:
    """The run's own tape first, then those that go on with it, in the order of their beginnings.

    Raises NoSuchRun.
    """
    there = [tape for folder in folders for tape in _tapes(folder)]
    chain, found = {run_id}, []
    known: set[tuple[str, int]] = set()
    for tape in sorted(there, key=lambda tape: (tape.run_id != run_id, tape.began)):
        is_copy = (tape.run_id, tape.began) in known
        if not is_copy and (tape.run_id in chain or tape.follows in chain):
            known.add((tape.run_id, tape.began))
            chain.add(tape.run_id)
            found.append(tape)
    if not found:
        raise NoSuchRun(f"there is no tape of run {run_id}", hint="name the tape itself")
    return found


def followers(tape: Path) -> list[TapeOfRun]:
    """The tapes beside this one that go on with its run."""
    own = _beginning(tape)
    if own is None:
        return []
    found = tapes_of_run(own.run_id, [tape.parent])
    return [one for one in found if one.follows and one.path.resolve() != tape.resolve()]


def _tapes(folder: Path) -> Iterator[TapeOfRun]:
    if folder.is_dir():
        for path in sorted(folder.glob("*.tape")):
            beginning = _beginning(path)
            if beginning is not None:
                yield beginning


def _beginning(path: Path) -> TapeOfRun | None:
    """None where it cannot be read: it is then not known to be of the run."""
    try:
        with Tape.open(path) as tape:
            follows = ""
            for event in tape.events(stop=_LOOKED_AT + 1):
                if not isinstance(event, UnknownEvent) and hasattr(event, "relation"):
                    follows = str(getattr(event, "run_id", ""))
            return TapeOfRun(path, tape.run.run_id, follows, tape.run.wall)
    except RerailError:
        return None
