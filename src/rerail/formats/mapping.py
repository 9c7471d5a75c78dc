"""A mapping: which fields of somebody's own JSON lines are what. A small file in TOML.

    name = "app-log"            # what such lines are called
    time = "ts"                 # ISO 8601, or seconds, milli-, micro- or nanoseconds since 1970
    kind = "event"              # what a line records
    says = "msg"                # its words

    [ids]                       # what joins it to other records
    run = "run_id"
    task = "job.task"

    [message]                   # which lines are conversation
    role = "role"
    text = "content"
    tool = "tool.name"
    call = "tool.id"
    arguments = "tool.args"
    result = "tool.result"
    error = "error"

A path goes through objects by dots; a name with a dot in it is found whole.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from rerail.errors import UserError
from rerail.formats.file import Foreign
from rerail.formats.making import Teller, wall_of
from rerail.llm.arguments import parsed
from rerail.llm.view import Message, Part, Text, ToolCall, ToolCallResponse
from rerail.trace.story import Story

_FIELDS: Final = ("name", "time", "kind", "says")
_MESSAGE: Final = (
    "role", "text", "tool", "call", "arguments", "result", "error", "model", "finish",
)  # fmt: skip
_ROLES: Final = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}


class MappingRefused(UserError):
    """The mapping file cannot be read, or has a field that no mapping has."""


@dataclass(frozen=True)
class Mapped:
    """A mapping file's content: paths by what they are."""

    fields: Mapping[str, str]
    ids: Mapping[str, str] = field(default_factory=dict)
    message: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read a mapping file. Raises MappingRefused."""
        try:
            with path.open("rb") as opened:
                found = tomllib.load(opened)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            hint = "see the how-to on importing for an example"
            raise MappingRefused(f"cannot read mapping {path}: {error}", hint=hint) from error
        ids, message = found.pop("ids", {}), found.pop("message", {})
        _check(path, "", found, _FIELDS)
        _check(path, "ids", ids, None)
        _check(path, "message", message, _MESSAGE)
        return cls(found, ids, message)

    @property
    def name(self) -> str:
        """What such lines are called."""
        return self.fields.get("name", "json-lines")

    def value(self, record: Any, path: str | None) -> Any:
        """What stands at a path in a record, None where nothing does."""
        if not path or not isinstance(record, dict):
            return None
        if path in record:
            return record[path]
        first, _, rest = path.partition(".")
        return self.value(record.get(first), rest) if rest else None

    def field(self, record: Any, name: str) -> Any:
        """One of the mapping's own fields of a record."""
        return self.value(record, self.fields.get(name))

    def identifiers(self, record: Any) -> dict[str, str]:
        """The identifiers that a record has."""
        found = {name: self.value(record, path) for name, path in self.ids.items()}
        return {name: str(value) for name, value in found.items() if value not in (None, "")}


def _check(path: Path, name: str, found: Any, known: tuple[str, ...] | None) -> None:
    """Each field names a path in a record, and is one that there is."""
    fields = found if isinstance(found, dict) else {name: None}
    for field_name, value in fields.items():
        if not isinstance(value, str) or (known is not None and field_name not in known):
            hint = f"it may have {', '.join(known)}" if known else 'a line of it is run = "path"'
            raise MappingRefused(f"mapping {path}: `{field_name}` is no such field", hint=hint)


def read_mapped(file: Foreign, mapping: Mapped) -> list[Story]:
    """The story that the mapping sees in a file; lines that are no conversation are passed by."""
    teller = Teller(file.name)
    ids: dict[str, str] = {}
    for line, record in file.objects():
        ids = mapping.identifiers(record) | ids
        parts = tuple(_parts(mapping, record))
        error = mapping.value(record, mapping.message.get("error"))
        if not parts and not error:
            continue
        teller.say(
            Message(_role(mapping, record, parts), parts),
            line=line,
            at=wall_of(mapping.field(record, "time")),
            model=str(mapping.value(record, mapping.message.get("model")) or ""),
            finish_reason=str(mapping.value(record, mapping.message.get("finish")) or ""),
            error="" if _answers(parts) else str(error or ""),
        )
    return [teller.story(file, [], ids=ids)]


def _parts(mapping: Mapped, record: Any) -> Iterator[Part]:
    found = {name: mapping.value(record, path) for name, path in mapping.message.items()}
    call_id = str(found.get("call") or "")
    if found.get("text"):
        yield Text(str(found["text"]))
    result = found.get("result")
    if result is not None:
        words = result if isinstance(result, str) else _json(result)
        yield ToolCallResponse(call_id, words, is_error=bool(found.get("error")))
    elif found.get("tool"):
        yield ToolCall(call_id, str(found["tool"]), parsed(found.get("arguments")))


def _role(mapping: Mapped, record: Any, parts: tuple[Part, ...]) -> str:
    if _answers(parts):
        return "tool"
    said = str(mapping.value(record, mapping.message.get("role")) or "assistant").lower()
    return _ROLES.get(said, said)


def _answers(parts: tuple[Part, ...]) -> bool:
    return any(isinstance(part, ToolCallResponse) for part in parts)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
