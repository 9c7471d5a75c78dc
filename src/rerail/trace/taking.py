"""Taking a source into a case: what kind of file it is, and its freezing. Reads its first bytes."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from rerail.trace.case import Case
from rerail.trace.freeze import freeze, freeze_file
from rerail.trace.sources_of_case import SourceEntry

ORIGINALS: Final = "originals"
_SQLITE: Final = b"SQLite format 3\x00"


def offered(path: Path, name: str, *, mapping: str = "", run: int = 0) -> SourceEntry:
    """A source as it is before it is taken in, to be looked at.

    With a mapping it is a log of JSON lines. Without one it is a tape, or else another program's
    file, of which `run` names the run (0: it holds one).
    """
    kind = "log" if mapping else "tape" if _may_be_a_tape(path) else "conversation"
    state = "" if kind == "tape" else "imported"
    return SourceEntry(name, str(path), "", kind, state=state, mapping=mapping, run=run)


def take_in(case: Case, entry: SourceEntry) -> SourceEntry:
    """Freeze it, and say what it is from now on."""
    path = Path(entry.path)
    originals = case.folder / ORIGINALS / entry.name
    if entry.kind != "tape":
        copy, files = freeze_file(path, originals)
        return replace(
            entry,
            path=str(copy.absolute()),
            beside=_beside(case, copy),
            files=files,
            copied_from=str(path.resolve()),
        )
    frozen = freeze(path, originals)
    return replace(
        entry,
        path=str(frozen.path),
        beside=_beside(case, frozen.path),
        tape_id=frozen.tape_id,
        state=frozen.state,
        files=frozen.files,
        lost=list(frozen.lost),
    )


def _beside(case: Case, path: Path) -> str:
    return os.path.relpath(path.absolute(), case.folder.absolute())


def _may_be_a_tape(path: Path) -> bool:
    """A file that is not there, or is empty, is left to the reader of tapes to complain of."""
    if path.suffix == ".tape" or not path.is_file():
        return True
    with path.open("rb") as file:
        begins = file.read(len(_SQLITE))
    return not begins or begins == _SQLITE
