"""A case: the folder of one investigation, a numbered record for all that was done. Never a tape.

Each record is a file of its own, dated and signed by name, written once and never again, and holds
the SHA-256 of the one before it; behind each, a line of the seal covers all up to it. The time and
the user's key are given.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final, Self

from rerail.errors import UserError
from rerail.trace.case_seal import SEAL, Line, read_seal, sealed, sealed_elsewhere, unlike
from rerail.whole_file import create_whole

_NAME: Final = re.compile(r"(\d{3,})-([a-z-]+)\.json")
_SUFFIXES: Final = range(2, 1000)


class NoCase(UserError):
    """The folder is no case, or a record of it cannot be read."""


class CaseThere(UserError):
    """There is something of that name already."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a case: what was done (`kind`), when (nanoseconds since 1970), and by whom."""

    number: int
    kind: str
    written: int
    by: str
    body: Mapping[str, Any]
    previous: str = ""
    digest: str = ""


Key = Callable[[], bytes]
"""Gives the user's key (`rerail.trace.case_seal`) when it is needed; empty for none."""


class Case:
    """An open case; it holds no file open. `key` gives the user's, for the seal."""

    def __init__(self, folder: Path, key: Key = bytes) -> None:
        self.folder = folder
        self._key = key

    @classmethod
    def create(cls, folder: Path, key: Key = bytes) -> Self:
        """Make the folder, readable by its owner alone. Raises CaseThere."""
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError as error:
            hint = f"look at it with `rerail trace timeline {folder}`, or name another with -o"
            raise CaseThere(f"{folder} is there already", hint=hint) from error
        folder.chmod(0o700)
        return cls(folder, key)

    @classmethod
    def open(cls, folder: Path, key: Key = bytes) -> Self:
        """The case in this folder. Raises NoCase."""
        case = cls(folder, key)
        if next(case._files(), None) is None:
            hint = "begin one with `rerail trace open TAPE --question …`"
            raise NoCase(f"{folder} is no case", hint=hint)
        return case

    def entries(self) -> list[Entry]:
        """All records in order. Raises NoCase where one cannot be read."""
        return [_read(path) for path in self._files()]

    def last(self, kind: str) -> Entry | None:
        """The newest record of a kind."""
        return next((entry for entry in reversed(self.entries()) if entry.kind == kind), None)

    def add(self, kind: str, *, by: str, written: int, body: Mapping[str, Any]) -> Entry:
        """Write one record more, behind all others."""
        key = self._key()
        with self._alone():
            before = self.entries()
            number = before[-1].number + 1 if before else 1
            document = {
                "number": number,
                "kind": kind,
                "written": written,
                "by": by,
                "previous": before[-1].digest if before else "",
                "body": body,
            }
            path = self.folder / f"{number:03}-{kind}.json"
            written_down = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
            # Half of a pair of surrogates is no UTF-8; as JSON's own escape it comes back.
            write_new(path, written_down.encode("utf-8", "backslashreplace"))
            path.chmod(0o400)
            entry = _read(path)
            self._seal([*before, entry], key)
            return entry

    def changed(self) -> list[str]:
        """What of the case's own records does not fit together any more, in words."""
        found, previous = [], ""
        for expected, entry in enumerate(self.entries(), 1):
            if entry.number != expected:
                found.append(f"record {expected} is not there")
                break
            if entry.previous != previous:
                found.append(f"record {expected - 1} was changed after record {expected} was made")
            previous = entry.digest
        return found or unlike(self._sealed(), self._digests())

    def sealed_elsewhere(self) -> list[int]:
        """The records whose seals this user, on this machine, has not made."""
        return sealed_elsewhere(self._sealed(), self._key())

    def _digests(self) -> list[str]:
        return [entry.digest for entry in self.entries()]

    def _sealed(self) -> list[Line]:
        path = self.folder / SEAL
        return read_seal(path.read_bytes()) if path.is_file() else []

    def _seal(self, entries: Sequence[Entry], key: bytes) -> None:
        """One line more; what stands there already is never touched."""
        line = sealed([entry.digest for entry in entries], key)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self.folder / SEAL, flags, 0o600), "ab") as file:
            file.write(line.written())
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While a number is taken, nobody else takes it: a lock on the folder itself."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _files(self) -> Iterator[Path]:
        if self.folder.is_dir():
            yield from sorted(
                (path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)), key=_number
            )


def new_folder(beside: Path, name: str) -> Path:
    """`CASE-RUN-8894` beside a tape; with a number more where that is there."""
    safe = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    first = beside / f"CASE-{safe}"
    names = [first, *(first.with_name(f"{first.name}-{number}") for number in _SUFFIXES)]
    return next((path for path in names if not path.exists()), first)


def write_new(path: Path, data: bytes) -> None:
    """A file that is there whole or not at all, readable by its owner alone. Replaces none."""
    try:
        create_whole(path, data)
    except FileExistsError as error:
        hint = "name another file, or move that one away"
        raise CaseThere(f"{path} is there already", hint=hint) from error


def _number(path: Path) -> int:
    return int(path.name.partition("-")[0])


def _read(path: Path) -> Entry:
    hint = "records of a case are written by `rerail trace` alone: bring the file back"
    try:
        if not S_ISREG(path.stat().st_mode):
            raise NoCase(f"{path} cannot be read: it is no file", hint=hint)
        data = path.read_bytes()
        document = json.loads(data)
        return Entry(
            number=int(document["number"]),
            kind=str(document["kind"]),
            written=int(document["written"]),
            by=str(document["by"]),
            body=dict(document["body"]),
            previous=str(document["previous"]),
            digest=sha256(data).hexdigest(),
        )
    except OSError as error:
        raise NoCase(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NoCase(f"{path} cannot be read", hint=hint) from error
