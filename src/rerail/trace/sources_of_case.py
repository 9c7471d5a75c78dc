"""The sources that a case names: what was written down of each, and how they are opened again.

How a file is read is given: a tape by this room's own reader, anything else by a reader of formats.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any, Self

import msgspec

from rerail.trace.case import Case, Entry, NoCase
from rerail.trace.record import CaseSource


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One source as the case's records name it.

    `path` is absolute, `beside` relative to the case's folder, so that both may move together.
    `kind` is `tape`, `log` (read by `mapping`) or `conversation` (of which `run` is the run meant,
    0 where the file holds one). `tape_id` is what a tape was when it was taken in, `files` the
    SHA-256 of each of its files. `copied_from` is where another program has what the case has a
    copy of.
    """

    name: str
    path: str
    beside: str
    kind: str
    tape_id: str = ""
    state: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    lost: Sequence[str] = ()
    mapping: str = ""
    run: int = 0
    copied_from: str = ""

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """From a case's record. Raises ValueError where it holds no source."""
        return msgspec.convert(document, cls)

    def values(self) -> dict[str, Any]:
        """For a case's record."""
        return asdict(self)

    def found_at(self, folder: Path) -> Path:
        """Where the file is now. Raises NoCase where it is in neither place."""
        path = self.sought_at(folder)
        if path is not None:
            return path
        hint = "bring it back: a failed run stays available after the repair"
        raise NoCase(f"source {self.name} of the case is not there: {self.path}", hint=hint)

    def sought_at(self, folder: Path) -> Path | None:
        """Where the file is now; None where it is in neither place."""
        places = (folder / self.beside, Path(self.path)) if self.beside else ()
        return next((path for path in places if path.is_file()), None)

    def is_as_taken_in(self, path: Path) -> bool:
        """Whether every file that was taken in has the bytes it had then, beside `path`."""
        return next(self.changed(path), None) is None

    def changed(self, path: Path) -> Iterator[tuple[Path, str, str]]:
        """The files that have not: where, the digest that was taken down, and the one of now."""
        for name, digest in self.files.items():
            if (now := _digest(path.parent / name)) != digest:
                yield path.parent / name, digest, now


Opener = Callable[[SourceEntry, Path], CaseSource]


def entries_of(case: Case) -> list[SourceEntry]:
    """The sources of a case, as its newest record of them has them."""
    for entry in reversed(case.entries()):
        if entry.kind in ("collected", "opened"):
            return _sources_in(case, entry)
    hint = "begin one with `rerail trace open TAPE --question …`"
    raise NoCase(f"{case.folder} names no source", hint=hint)


def _sources_in(case: Case, entry: Entry) -> list[SourceEntry]:
    try:
        found = [SourceEntry.read(document) for document in entry.body["sources"]]
        if found:
            return found
        problem = "it names none"
    except (ValueError, KeyError, TypeError) as error:
        problem = str(error)
    hint = "records of a case are written by `rerail trace` alone: bring the file back"
    what = f"record {entry.number} of {case.folder} does not say its sources: {problem}"
    raise NoCase(what, hint=hint)


def must_be_as_taken_in(entries: Sequence[SourceEntry], folder: Path) -> None:
    """Raises NoCase where another file stands in the place of one that was taken in."""
    for entry in entries:
        for path, was, now in entry.changed(entry.found_at(folder)):
            raise NoCase(
                f"source {entry.name} of the case is not the file that was taken in: {path} "
                f"has the SHA-256 {now[:12] or 'of nothing'}, and had {was[:12]}",
                hint="bring it back; `rerail trace check` says what else does not hold",
            )


@contextmanager
def opened_sources(case: Case, opener: Opener) -> Iterator[list[CaseSource]]:
    """All sources of a case as they were taken in, closed at the end of the block."""
    entries = entries_of(case)
    must_be_as_taken_in(entries, case.folder)
    with opened_entries(entries, case.folder, opener) as sources:
        yield sources


@contextmanager
def opened_entries(
    entries: Sequence[SourceEntry], folder: Path, opener: Opener
) -> Iterator[list[CaseSource]]:
    """The sources of these entries, closed at the end of the block."""
    with ExitStack() as stack:
        sources = []
        for entry in entries:
            source = opener(entry, entry.found_at(folder))
            stack.callback(getattr(source, "close", _nothing))
            sources.append(source)
        yield sources


@contextmanager
def opened_file(entry: SourceEntry, opener: Opener) -> Iterator[CaseSource]:
    """A file that is not taken in yet, by its own reader and its own complaints."""
    source = opener(entry, Path(entry.path))
    try:
        yield source
    finally:
        getattr(source, "close", _nothing)()


def _nothing() -> None:
    return


def _digest(path: Path) -> str:
    """Its SHA-256; empty where it is not there."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def next_name(entries: Sequence[SourceEntry]) -> str:
    """`A`, `B` … `Z`, then `S27`."""
    number = len(entries)
    return chr(ord("A") + number) if number < 26 else f"S{number + 1}"
