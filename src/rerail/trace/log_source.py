"""A log of JSON lines as a source of a case, read by a mapping that somebody wrote for it.

The mapping says which field is what, and never makes anything up: a line that does not fit is a
gap. A log is imported, not recorded: that a line is not there shows nothing.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from rerail.errors import NotOnTape, UsageProblem, UserError
from rerail.tape.event import Event
from rerail.trace.record import FIELDS, IDENTIFIERS, Record
from rerail.trace.story import Gap, Story

_GAPS_NAMED: Final = 5
_LINE_SIZE: Final = 16 << 20
"""Bytes of one line at most."""
_SECOND: Final = 1_000_000_000
_UNITS: Final = {"s": _SECOND, "ms": 1_000_000, "us": 1000, "ns": 1}

FieldPath = Annotated[str, Meta(min_length=1, description="A field; `a.b` is b in a")]


class BadMapping(UserError):
    """The mapping of a log cannot be read."""


class Kinds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which field says what a line is about, and what its values are called here."""

    field: FieldPath
    names: dict[str, str] = {}


class Time(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which field is the time, and in what: ISO 8601, or a count since 1970."""

    field: FieldPath
    unit: Literal["iso", "s", "ms", "us", "ns"] = "iso"


class Conversation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which fields of a line are conversation: somebody's words, a call of a tool, its result."""

    role: str = ""
    text: str = ""
    tool: str = ""
    call: str = ""
    arguments: str = ""
    result: str = ""
    error: str = ""
    model: str = ""
    finish: str = ""


class LogMapping(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the lines of a log are read. `ids` gives for an identifier the field that holds it.

    `message` is for those who read a conversation out of the lines (`rerail import --mapping`).
    """

    kind: Kinds
    time: Time | None = None
    ids: dict[str, FieldPath] = field(default_factory=dict)
    component: str = "target"
    says: str = ""
    message: Conversation | None = None


def mapping_in(path: Path) -> bytes:
    """The bytes of a mapping's file, no more than one may have."""
    from rerail.task.plain_yaml import DOCUMENT_SIZE

    with path.open("rb") as file:
        return file.read(DOCUMENT_SIZE + 1)


def read_mapping(content: bytes, name: str) -> LogMapping:
    """A mapping from YAML or JSON. Raises BadMapping."""
    from rerail.task.plain_yaml import read_yaml

    hint = "`docs/how-to/trace.md` has an example"
    try:
        found = msgspec.convert(read_yaml(content, name, typed=True), LogMapping)
    except UsageProblem as error:
        raise BadMapping(f"cannot read the mapping: {error.what}", hint=hint) from error
    except msgspec.ValidationError as error:
        raise BadMapping(f"cannot read the mapping {name}: {error}", hint=hint) from error
    unknown = set(found.ids) - set(IDENTIFIERS)
    if unknown:
        hint = f"there are {', '.join(IDENTIFIERS)}"
        raise BadMapping(f"{name}: no such identifier: {min(unknown)}", hint=hint)
    return found


class LogSource:
    """One log. Reads the file as a stream, each time anew."""

    recorded = False
    whole = False

    def __init__(self, name: str, path: Path, mapping: LogMapping) -> None:
        self.name = name
        self.title = path.name
        self._path = path
        self._mapping = mapping
        self._unread: list[str] = []

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What this log cannot show."""
        general = Gap("a log says what was logged", "whether anything is missing between two lines")
        own = [Gap(text, "what that line says") for text in self._unread[:_GAPS_NAMED]]
        return (general, *own)

    def records(self, *, worded: bool = True) -> Iterator[Record]:
        """Every line that the mapping fits."""
        self._unread.clear()
        for number, line in self._lines():
            record = self._record(number, line)
            if record is None:
                self._unread.append(f"line {number} does not fit the mapping")
            else:
                yield record

    def worded(self, record: Record) -> Record:
        """The record: it has its words."""
        return record

    def events(self) -> Iterator[Event] | None:
        """A log has no events of a tape."""
        return None

    def story(self) -> Story | None:
        """A log holds no conversation."""
        return None

    def evidence(self, ref: str) -> str:
        """The line of that number. Raises NotOnTape."""
        word, _, digits = ref.partition(" ")
        if word == "line" and digits.isdigit():
            for _, line in islice(self._lines(), int(digits) - 1, int(digits)):
                return line.decode("utf-8", "replace").rstrip("\n")
        raise NotOnTape(f"there is no {ref} in {self._path}", hint="write `line 7`")

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its number; of one that is too long nothing is kept."""
        with self._path.open("rb") as file:
            for number in count(1):
                line = file.readline(_LINE_SIZE)
                if not line:
                    return
                whole = line
                while len(line) == _LINE_SIZE and not line.endswith(b"\n"):
                    line, whole = file.readline(_LINE_SIZE), b""
                yield number, whole

    def _record(self, number: int, line: bytes) -> Record | None:
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            return None
        value = value_at(document, self._mapping.kind.field)
        if not isinstance(value, str):
            return None
        mapping = self._mapping
        found = ((name, value_at(document, path)) for name, path in mapping.ids.items())
        ids = tuple((name, str(value)) for name, value in found if isinstance(value, str | int))
        named = {FIELDS[name]: value for name, value in ids if name in FIELDS}
        says = value_at(document, mapping.says) if mapping.says else value
        return Record(
            self.name,
            f"line {number}",
            number,
            mapping.kind.names.get(value, value),
            mapping.component,
            str(says),
            wall_at(document, mapping.time),
            ids,
            {**document, **named},
        )


def value_at(document: Any, path: str) -> Any:
    """The value at `a.b.c`, None where there is none."""
    for name in path.split("."):
        if type(document) is not dict and not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def wall_at(document: Any, time: Time | None) -> int | None:
    """Its time as nanoseconds since 1970, None where it does not say."""
    value = value_at(document, time.field) if time is not None else None
    if time is None or value is None:
        return None
    try:
        if time.unit != "iso":
            return round(float(value) * _UNITS[time.unit])
        moment = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000_000) * 1000
