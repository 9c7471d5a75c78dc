"""The list of an experiment's runs: a line each, only ever added to, on the disk before it counts.

A run is in it once its tape is sealed. After `kill -9` the last line may be torn; its tape is not.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from rerail.errors import UsageProblem
from rerail.experiment.plan import Key


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line: a run that is over, by its key; or a tape that is none, and why it is `aside`."""

    tape: str
    key: Key | None = None
    tape_id: str = ""
    aside: str = ""


class Ledger:
    """The file, open for adding; no other process may add to it meanwhile."""

    def __init__(self, path: Path) -> None:
        """Raises UsageProblem where another process has it."""
        import fcntl

        self._file = path.open("ab+")
        os.fchmod(self._file.fileno(), 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise UsageProblem(
                f"another process runs the experiment in {path.parent}",
                hint="wait for it, or name another folder with -o",
            ) from error
        self._drop_torn_line()
        self.entries = list(read(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, entry: Entry) -> None:
        """Write a line; it is on the disk when this returns."""
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.entries.append(entry)

    def _drop_torn_line(self) -> None:
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b"\n") + 1)


def read(path: Path) -> Iterator[Entry]:
    """The lines of a ledger, a torn last one left out.

    Raises:
        UsageProblem: It is not there, or a line is none.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError as error:
        raise UsageProblem(
            f"there is no experiment in {path.parent}",
            hint="`rerail experiment run exp.yaml -o DIR` begins one",
        ) from error
    for number, line in enumerate(lines, 1):
        try:
            yield msgspec.json.decode(line, type=Entry)
        except msgspec.DecodeError as error:
            raise UsageProblem(
                f"{path}: line {number} is no entry: {error}", hint="take the file from a copy"
            ) from error
