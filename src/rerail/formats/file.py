"""A file from elsewhere as JSON values with their places: one document, or a value a line.

Knows no format. What is too large, too deep or no JSON is refused with its place; single lines that
cannot be read are counted and passed by, so that one torn line does not cost the rest. A file of
many lines is read anew each time somebody asks for its values: they are not held.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from stat import S_ISFIFO
from typing import Any, Final, NamedTuple

import msgspec
import zstandard

from rerail.errors import UserError
from rerail.formats.lines import LARGEST, Line, Told, TooLong, beginning, lines_of, unpacked

LARGEST_DOCUMENT: Final = 256 << 20
_LOOKED_AT: Final = 1000
_ZIP: Final = b"PK\x03\x04"
_ASK_AGAIN: Final = "was it cut short? export it again"


class ImportRefused(UserError):
    """The file cannot be imported: no known format, broken, or larger than is read."""


class Value(NamedTuple):
    """A JSON value and its number: of its line, or 0 where the file is one document."""

    line: int
    value: Any


@dataclass(slots=True)
class Foreign:
    """A file from elsewhere. `lines` tells a value a line from one document.

    `first` are its values, or the first thousand lines, by which a format is known. `torn` are the
    lines that were no JSON, of those read so far. `more` says that there is more than `first`.
    """

    path: Path
    lines: bool
    first: tuple[Value, ...]
    torn: list[int] = field(default_factory=list)
    more: bool = False
    told: Told | None = None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def document(self) -> Any:
        """The whole, where the file is one document; one on a single line may be lines, too."""
        alone = len(self.first) == 1 and not self.more and not self.torn
        return self.first[0].value if alone else None

    @property
    def values(self) -> Iterator[Value]:
        """All values. Raises ImportRefused where the file turns out to be broken or too large."""
        if not self.more:
            yield from self.first
            return
        self.torn = []
        with _refusing(self.path):
            yield from _read_lines(self.path, self.torn, self.told)

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The JSON objects in it, each with its line."""
        for line, value in self.values:
            if isinstance(value, dict):
                yield line, value

    def first_objects(self) -> list[dict[str, Any]]:
        """The objects among the first values."""
        return [value for _, value in self.first if isinstance(value, dict)]


def is_archive(path: Path) -> bool:
    """Whether the file is a zip archive."""
    try:
        if S_ISFIFO(path.stat().st_mode):
            raise _refused(path, "it is a pipe, and is read more than once", "write it to a file")
        return beginning(path).startswith(_ZIP)
    except IsADirectoryError as error:
        raise _refused(path, "it is a folder", "name a file in it") from error


def open_foreign(path: Path, told: Told | None = None) -> Foreign:
    """Read a file of JSON, or of JSON lines, compressed with zstd or not. Raises ImportRefused."""
    if path.stat().st_size > LARGEST:
        raise _refused(path, "it is larger than 1 GiB", "import it in parts")
    is_archive(path)
    with _refusing(path):
        if _is_lines(path):
            torn: list[int] = []
            found = tuple(islice(_read_lines(path, torn), _LOOKED_AT + 1))
            more = len(found) > _LOOKED_AT
            return Foreign(path, True, found[:_LOOKED_AT], torn, more, told)
        return Foreign(path, False, (Value(0, loads(_content(path), path)),))


def loads(text: str | bytes, path: Path) -> Any:
    """A JSON document. Raises ImportRefused, with the place of the mistake."""
    try:
        return _value(text)
    except json.JSONDecodeError as error:
        raise _refused(
            path, f"line {error.lineno}, column {error.colno} is not JSON: {error.msg}", _ASK_AGAIN
        ) from error
    except UnicodeDecodeError as error:
        raise _refused(path, f"byte {error.start} is no UTF-8", "is it a text file?") from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"its JSON cannot be read: {error}", _ASK_AGAIN) from error


def _value(text: str | bytes) -> Any:
    """A JSON value. What the fast reader refuses, Python's own may know: half of a pair of
    surrogates, NaN. Numbers that are none stay the words they were written in."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        words = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        return json.loads(words, parse_constant=str, parse_float=_float)


def _float(word: str) -> Any:
    number = float(word)
    return number if math.isfinite(number) else word


def _read_lines(path: Path, torn: list[int], told: Told | None = None) -> Iterator[Value]:
    for line in lines_of(path, told):
        try:
            yield Value(line.number, _value_of(line))
        except (ValueError, RecursionError):
            torn.append(line.number)


def _value_of(line: Line) -> Any:
    if line.raw is None:
        raise ValueError
    return _value(line.raw)


def _is_lines(path: Path) -> bool:
    """Whether the first line that is not empty is a JSON value of its own, with more behind it."""
    lines = lines_of(path)
    first = next(lines, None)
    raw = first.raw if first else b""
    _check_beginning(path, raw if raw is not None else b"{")
    try:
        _value(raw or b"")
    except (ValueError, RecursionError):
        return False
    return next(lines, None) is not None or (raw or b"").lstrip().startswith(b"{")


def _check_beginning(path: Path, raw: bytes) -> None:
    """Refuse what is plainly no JSON."""
    try:
        raw[:1].decode()
    except UnicodeDecodeError as error:
        raise _refused(path, "byte 0 is no UTF-8", "is it a text file?") from error
    first = raw.lstrip()[:1]
    if first not in (b"{", b"[", b'"') and not first.isdigit():
        raise _refused(path, "it is not JSON", "`rerail import --help` lists the formats")


def _content(path: Path) -> bytes:
    """A whole document."""
    with unpacked(path) as (content, _):
        found = content.read(LARGEST_DOCUMENT + 1)
    if len(found) > LARGEST_DOCUMENT:
        what = "it is one JSON document of more than 256 MiB"
        raise _refused(path, what, "export it in parts")
    return found


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What a broken or too large file raises while it is read, as ImportRefused."""
    try:
        yield
    except TooLong as error:
        raise _refused(path, "it unpacks to more than 1 GiB", "import it in parts") from error
    except zstandard.ZstdError as error:
        raise _refused(path, f"it cannot be unpacked: {error}", _ASK_AGAIN) from error


def _refused(path: Path, what: str, hint: str) -> ImportRefused:
    return ImportRefused(f"cannot import {path}: {what}", hint=hint)
