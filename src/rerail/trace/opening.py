"""Opening a case: tapes frozen, the question, the final known state. What holds a run is given."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rerail.tape.reader import Tape
from rerail.trace.case import Case, new_folder
from rerail.trace.final import FinalState, final_state
from rerail.trace.freeze import Frozen, freeze, freeze_file
from rerail.trace.gathered import gather
from rerail.trace.sources_of_case import Opener, SourceEntry, next_name, opened_entries

ORIGINALS = "originals"


def open_case(
    tapes: Sequence[Path],
    *,
    question: str,
    by: str,
    now: int,
    opener: Opener,
    folder: Path | None = None,
) -> tuple[Case, FinalState]:
    """Freeze tapes and make a case of them; the first is the failed run's own.

    Raises what reading a tape raises, StillRunning, CaseThere; then nothing is left behind.
    """
    with Tape.open(tapes[0]) as first:
        run_id = first.run.run_id
    case = Case.create(folder or new_folder(tapes[0].absolute().parent, run_id))
    try:
        entries: list[SourceEntry] = []
        for tape in tapes:
            entries.append(take_in(case, tape, next_name(entries)))
        final = _final(case, entries, opener)
        body = {
            "question": question,
            "final_state": asdict(final),
            "sources": [entry.values() for entry in entries],
        }
        case.add("opened", by=by, written=now, body=body)
    except BaseException:
        shutil.rmtree(case.folder, ignore_errors=True)
        raise
    return case, final


def take_in(case: Case, tape: Path, name: str) -> SourceEntry:
    """Freeze a tape and say what it is, as a source of the case."""
    originals = case.folder / ORIGINALS / name
    frozen = freeze(tape, originals)
    return _entry(case, name, frozen)


def take_in_log(case: Case, path: Path, name: str, mapping: str) -> SourceEntry:
    """Freeze a log and say what it is, with the mapping it is read by, word for word."""
    entry = log_entry(path, name, mapping)
    beside = os.path.relpath(path.absolute(), case.folder.absolute())
    return replace(entry, beside=beside, files=freeze_file(path))


def tape_entry(path: Path, name: str) -> SourceEntry:
    """A tape that is looked at before it is taken in."""
    whole = str(path.absolute())
    return SourceEntry(name, whole, whole, "tape")


def log_entry(path: Path, name: str, mapping: str) -> SourceEntry:
    """A log that is looked at before it is taken in."""
    whole = str(path.absolute())
    return SourceEntry(name, whole, whole, "log", state="imported", mapping=mapping)


def _entry(case: Case, name: str, frozen: Frozen) -> SourceEntry:
    return SourceEntry(
        name=name,
        path=str(frozen.path),
        beside=os.path.relpath(frozen.path, case.folder.absolute()),
        kind="tape",
        tape_id=frozen.tape_id,
        state=frozen.state,
        files=frozen.files,
        lost=list(frozen.lost),
    )


def _final(case: Case, entries: Sequence[SourceEntry], opener: Opener) -> FinalState:
    with opened_entries(entries, case.folder, opener) as sources:
        return final_state(gather(sources))
