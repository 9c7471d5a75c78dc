"""What SQLite keeps beside a tape while it is written, and leaves there when the writer dies.

A tape that was closed stands alone. Names only: nothing here opens a file.
"""

from pathlib import Path
from typing import Final

LOG: Final = "-wal"
JOURNAL: Final = "-journal"

HOLDING: Final = (LOG, JOURNAL)
"""How the names end of those that hold something of the run which is not in the tape yet."""

SUFFIXES: Final = (LOG, "-shm", JOURNAL)
"""How the names end of all of them."""


def beside(tape: Path, suffix: str) -> Path:
    """The file beside a tape whose name ends so."""
    return tape.with_name(tape.name + suffix)


def with_companions(tape: Path, suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """The tape and what may be beside it, whether it is there or not."""
    return [tape, *(beside(tape, suffix) for suffix in suffixes)]
