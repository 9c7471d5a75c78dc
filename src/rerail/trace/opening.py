"""Opening a case: sources frozen, the question, the final known state. Holds no run."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rerail.trace.case import Case, Key, new_folder
from rerail.trace.final import FinalState, final_state
from rerail.trace.freeze import thawed_on_failure
from rerail.trace.gathered import gather
from rerail.trace.sources_of_case import Opener, SourceEntry, next_name, opened_entries, opened_file
from rerail.trace.taking import offered, take_in


def open_case(
    paths: Sequence[Path],
    *,
    question: str,
    by: str,
    now: int,
    opener: Opener,
    folder: Path | None = None,
    run: int = 0,
    key: Key = bytes,
) -> tuple[Case, FinalState]:
    """Freeze sources and make a case of them; the first is the failed run's own.

    `run` is the number of the run that is meant of a file that holds several, 0 for the only one;
    `key` gives the user's, for the case's seal.

    Raises what reading a tape raises, StillRunning, CaseThere; then nothing is left behind, and no
    source is read-only that was not.
    """
    with opened_file(offered(paths[0], "A", run=run), opener) as source:
        named = next(source.records(worded=False), None)
    run_id = named.id("run") if named else ""
    case = Case.create(
        folder or new_folder(paths[0].absolute().parent, run_id or paths[0].stem), key
    )
    try:
        with thawed_on_failure(paths):
            entries: list[SourceEntry] = []
            for path in paths:
                entries.append(take_in(case, offered(path, next_name(entries), run=run)))
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


def _final(case: Case, entries: Sequence[SourceEntry], opener: Opener) -> FinalState:
    with opened_entries(entries, case.folder, opener) as sources:
        return final_state(gather(sources))
