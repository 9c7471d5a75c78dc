"""A file from elsewhere as JSON values with their places: one document, or a value a line.

Knows no format. What is too large, too deep or no JSON is refused with its place; single lines that
cannot be read are counted and passed by, so that one torn line does not cost the rest.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISFIFO
from typing import Any, Final, NamedTuple

import zstandard

from rerail.errors import UserError

LARGEST: Final = 1 << 30
LARGEST_DOCUMENT: Final = 256 << 20
LONGEST_LINE: Final = 64 << 20
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_ZIP: Final = b"PK\x03\x04"


class ImportRefused(UserError):
    """The file cannot be imported: no known format, broken, or larger than is read."""


class Value(NamedTuple):
    """A JSON value and its number: of its line, or 0 where the file is one document."""

    line: int
    value: Any


@dataclass(frozen=True)
class Foreign:
    """A file from elsewhere. `lines` tells a value a line from one document; `torn` lines are no
    JSON, by their numbers."""

    path: Path
    lines: bool
    values: tuple[Value, ...]
    torn: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def document(self) -> Any:
        """The whole, where the file is one document; one on a single line may be lines, too."""
        return self.values[0].value if len(self.values) == 1 and not self.torn else None

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The JSON objects in it, each with its line."""
        for line, value in self.values:
            if isinstance(value, dict):
                yield line, value


def is_archive(path: Path) -> bool:
    """Whether the file is a zip archive."""
    return _beginning(path).startswith(_ZIP)


def open_foreign(path: Path) -> Foreign:
    """Read a file of JSON, or of JSON lines, compressed with zstd or not. Raises ImportRefused."""
    raw = _content(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(path, f"byte {error.start} is no UTF-8", "is it a text file?") from error
    first = text.lstrip()[:1]
    if first not in ("{", "[", '"') and not first.isdigit():
        raise _refused(path, "it is not JSON", "`rerail import --help` lists the formats")
    if _is_lines(text):
        return _lines(path, text)
    if len(raw) > LARGEST_DOCUMENT:
        raise _refused(path, "it is one JSON document of more than 256 MiB", "export it in parts")
    return Foreign(path, lines=False, values=(Value(0, loads(text, path)),))


def loads(text: str | bytes, path: Path) -> Any:
    """A JSON document. Raises ImportRefused, with the place of the mistake."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _refused(
            path, f"line {error.lineno}, column {error.colno} is not JSON: {error.msg}", _ASK_AGAIN
        ) from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"its JSON cannot be read: {error}", _ASK_AGAIN) from error


_ASK_AGAIN: Final = "was it cut short? export it again"


def _lines(path: Path, text: str) -> Foreign:
    values, torn = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            if len(line) > LONGEST_LINE:
                raise ValueError
            values.append(Value(number, json.loads(line)))
        except (ValueError, RecursionError):
            torn.append(number)
    return Foreign(path, lines=True, values=tuple(values), torn=tuple(torn))


def _is_lines(text: str) -> bool:
    """Whether the first line that is not empty is a JSON value of its own, with more behind it."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return bool(rest.strip()) or first.startswith("{")


def _content(path: Path) -> bytes:
    if _beginning(path).startswith(_ZSTD):
        return _unpacked(path)
    if path.stat().st_size > LARGEST:
        raise _refused(path, "it is larger than 1 GiB", "import it in parts")
    return path.read_bytes()


def _unpacked(path: Path) -> bytes:
    found = io.BytesIO()
    try:
        with (
            path.open("rb") as packed,
            zstandard.ZstdDecompressor().stream_reader(packed) as reader,
        ):
            while piece := reader.read(1 << 20):
                found.write(piece)
                if found.tell() > LARGEST:
                    raise _refused(path, "it unpacks to more than 1 GiB", "import it in parts")
    except zstandard.ZstdError as error:
        raise _refused(path, f"it cannot be unpacked: {error}", _ASK_AGAIN) from error
    return found.getvalue()


def _beginning(path: Path) -> bytes:
    try:
        if S_ISFIFO(path.stat().st_mode):
            raise _refused(path, "it is a pipe, and is read more than once", "write it to a file")
        with path.open("rb") as opened:
            return opened.read(8)
    except IsADirectoryError as error:
        raise _refused(path, "it is a folder", "name a file in it") from error


def _refused(path: Path, what: str, hint: str) -> ImportRefused:
    return ImportRefused(f"cannot import {path}: {what}", hint=hint)
