"""Saves what can be read of a lost or damaged tape into a new one. The source is never touched.

Of a tape whose recorder died this is everything that was committed, half bodies folded into their
events and marked as cut, and `run.lost` as the last event. What could not be read is said on the
new tape, by a `capture.missing` in its place.
"""

import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path

from rerail.errors import TapeBusy, TapeExists, TapeUnreadable
from rerail.tape.failure import cannot_write
from rerail.tape.opening import NOTHING_SAVED, REPAIR, Opened, open_tape_file
from rerail.tape.salvage import Salvage
from rerail.tape.storage import Storage, remove


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair has saved, and in words what it could not. `cut` are the bodies it folded."""

    source: str
    path: str
    tape_id: str
    run_id: str
    events: int
    contents: int
    cut: tuple[str, ...]
    lost: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return asdict(self)

    def to_text(self) -> str:
        """For people."""
        saved = f"{self.path}: {self.events} events and {self.contents} contents saved"
        lines = [f"{saved} from {self.source}", f"  run {self.run_id}", f"  id {self.tape_id}"]
        lines += [f"  · {line}" for line in self.cut]
        lines += [f"  ✗ {line}" for line in self.lost] or ["  nothing that was committed is lost"]
        return "\n".join(lines)


def repair(source: Path, target: Path) -> Repaired:
    """Write everything that can be read of the tape at `source` to a new one at `target`.

    Raises TapeUnreadable where nothing can be saved, TapeBusy while `source` is being written,
    TapeExists, TapeWriteFailed.
    """
    if target.exists():
        raise TapeExists(f"{target} is there already", hint="name a file that is not there yet")
    try:
        opened = open_tape_file(source, tolerant=True)
    except TapeUnreadable as error:
        if error.hint == REPAIR.format(source):  # this is that repair
            raise TapeUnreadable(error.what, hint=NOTHING_SAVED) from error
        raise
    try:
        if opened.live:
            hint = "it needs no repair: wait until its recorder has ended"
            raise TapeBusy(f"{source} is being recorded", hint=hint)
        return _write(source, opened, target)
    finally:
        opened.close()


def _write(source: Path, opened: Opened, target: Path) -> Repaired:
    """Beside its final name first, so that nothing is ever there half."""
    partial = target.with_name(f"{target.name}.partial")
    storage = Storage.create(partial, overwrite=True)
    salvage = Salvage(opened.connection, storage)
    try:
        root = salvage.run(source)
        storage.finish()
        partial.rename(target)
    except (sqlite3.Error, OSError) as error:
        storage.abandon()
        remove(partial)
        raise cannot_write(target, error) from error
    except BaseException:
        storage.abandon()
        remove(partial)
        raise
    return Repaired(
        source=str(source),
        path=str(target),
        tape_id=f"sha256:{root.hex()}",
        run_id=salvage.run_id,
        events=salvage.events,
        contents=salvage.contents,
        cut=tuple(salvage.cut),
        lost=tuple(salvage.lost),
    )
