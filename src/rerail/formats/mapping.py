"""Somebody's own JSON lines as a conversation, by a mapping that says which field is what.

It is the mapping by which a case reads a log (`rerail.trace.log_source`), with a part `message`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from rerail.formats.file import Foreign
from rerail.formats.making import Teller
from rerail.llm.arguments import parsed
from rerail.llm.view import Message, Part, Text, ToolCall, ToolCallResponse
from rerail.trace.log_source import (
    BadMapping,
    LogMapping,
    mapping_in,
    read_mapping,
    value_at,
    wall_at,
)
from rerail.trace.story import Gap, Story

NAME: Final = "json-lines"
_ROLES: Final = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}


def read_mapped(file: Foreign, mapping: Path) -> list[Story]:
    """The conversation in a file; lines that are none of it are passed by. Raises BadMapping."""
    fields = read_mapping(mapping_in(mapping), str(mapping))
    if fields.message is None:
        hint = "`message:` names the fields of role, text, tool, result …"
        raise BadMapping(f"{mapping} does not say which fields are conversation", hint=hint)
    teller = Teller(file.name)
    ids: dict[str, str] = {}
    others = 0
    places = [(name, path) for name, path in structs.asdict(fields.message).items() if path]
    for line, record in file.objects():
        if len(ids) < len(fields.ids):
            ids = _identifiers(fields, record) | ids
        others += not _say(teller, fields, places, line, record)
    gaps = [Gap(f"lines that are no conversation: {others}", "what they say")] if others else []
    return [teller.story(file, gaps, ids=ids)]


def _identifiers(fields: LogMapping, record: Any) -> dict[str, str]:
    found = {name: value_at(record, path) for name, path in fields.ids.items()}
    return {name: str(value) for name, value in found.items() if value not in (None, "")}


def _say(
    teller: Teller, fields: LogMapping, places: list[tuple[str, str]], line: int, record: Any
) -> bool:
    found = {name: value_at(record, path) for name, path in places}
    parts = tuple(_parts(found))
    if not parts and not found.get("error"):
        return False
    answers = any(isinstance(part, ToolCallResponse) for part in parts)
    teller.say(
        Message("tool" if answers else _role(found), parts),
        line=line,
        at=wall_at(record, fields.time),
        model=str(found.get("model") or ""),
        finish_reason=str(found.get("finish") or ""),
        error="" if answers else str(found.get("error") or ""),
    )
    return True


def _parts(found: dict[str, Any]) -> Iterator[Part]:
    call_id = str(found.get("call") or "")
    if found.get("text"):
        yield Text(str(found["text"]))
    result = found.get("result")
    if result is not None:
        words = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        yield ToolCallResponse(call_id, words, is_error=bool(found.get("error")))
    elif found.get("tool"):
        yield ToolCall(call_id, str(found["tool"]), parsed(found.get("arguments")))


def _role(found: dict[str, Any]) -> str:
    said = str(found.get("role") or "assistant").lower()
    return _ROLES.get(said, said)
