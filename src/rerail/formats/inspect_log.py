"""Inspect's logs: `.eval`, a zip archive of a document a sample, and `.json`, one document of all.

Source: the files themselves, of builds up to 0.3.285. Messages have no times, tokens and stop
reasons; the events beside them have, and are joined by the message's id. Long texts may stand apart
(`attachment://…`). What a scorer said of a sample is a judgment, and not read.
"""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rerail.formats.archive import BROKEN, TooLarge, content, is_encrypted
from rerail.formats.file import LARGEST_DOCUMENT, Foreign, ImportRefused, Value, loads
from rerail.formats.making import Teller, usage_of, wall_of
from rerail.llm.chat import prompt
from rerail.llm.schemas import schemas
from rerail.llm.view import (
    Message,
    Text,
    ToolCall,
    ToolCallResponse,
    object_of,
    objects_of,
    text_of,
)
from rerail.trace.story import Story

NAME: Final = "inspect"
_MOST_SAMPLES: Final = 10_000
_ATTACHED: Final = "attachment://"


def recognises(file: Foreign) -> bool:
    """Whether the document is a whole log."""
    document = file.document
    return isinstance(document, dict) and "eval" in document and bool(_samples(document))


def read(file: Foreign) -> list[Story]:
    """A story for each sample of a document."""
    samples = _samples(file.document)
    several = len(samples) > 1
    return [_story(file.path, sample, _name(sample) if several else "") for sample in samples]


def _samples(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in objects_of(document, "samples") if "messages" in one]


def _name(sample: Mapping[str, Any]) -> str:
    return f"{sample.get('id', '')}_epoch_{sample.get('epoch', '')}"


def read_archive(path: Path) -> list[Story]:
    """A story for each sample of an archive. Raises ImportRefused."""
    try:
        with zipfile.ZipFile(path) as archive:
            samples = [one for one in archive.infolist() if _is_sample(one)]
            if not samples or len(samples) > _MOST_SAMPLES:
                what = f"it holds {len(samples)} samples of an Inspect log"
                raise ImportRefused(f"cannot import {path}: {what}", hint="from 1 to 10,000")
            several = len(samples) > 1
            return [_member(path, archive, sample, several) for sample in samples]
    except BROKEN as error:
        hint = "was it cut short? write the log again, or convert it: inspect log convert"
        raise ImportRefused(f"cannot import {path}: {error}", hint=hint) from error


def _is_sample(member: zipfile.ZipInfo) -> bool:
    return member.filename.startswith("samples/") and member.filename.endswith(".json")


def _member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, several: bool) -> Story:
    if is_encrypted(member):
        what = f"{member.filename} is encrypted"
        raise ImportRefused(f"cannot import {path}: {what}", hint="import it without a password")
    try:
        document = loads(content(path, archive, member, LARGEST_DOCUMENT), path)
    except TooLarge as error:
        what = f"{member.filename} is larger than 256 MiB"
        raise ImportRefused(f"cannot import {path}: {what}", hint="export it in parts") from error
    if not isinstance(document, dict):
        hint = "was it written by Inspect?"
        raise ImportRefused(f"cannot import {path}: {member.filename} is no sample", hint=hint)
    name = member.filename.removeprefix("samples/").removesuffix(".json")
    return _story(path, document, name if several else "")


def _story(path: Path, sample: Mapping[str, Any], name: str) -> Story:
    teller = Teller(f"{path.name} {name}".strip())
    apart = object_of(sample, "attachments")
    events = objects_of(sample, "events")
    about = dict(_told_by_events(events))
    for entry in objects_of(sample, "messages"):
        found = about.get(text_of(entry, "id")) or about.get(text_of(entry, "tool_call_id")) or {}
        teller.say(_message(entry, apart), model=text_of(entry, "model"), **found)
    error = text_of(object_of(sample, "error"), "message")
    limit = text_of(object_of(sample, "limit"), "type")
    ended = f"limit: {limit}" if limit else f"error: {error}" if error else "completed"
    ids = {"sample": str(sample.get("id", "")), "run": text_of(sample, "uuid")}
    tools = schemas({"tools": [tool for event in events for tool in objects_of(event, "tools")]})
    file = Foreign(path, lines=False, first=(Value(0, sample),))
    return teller.story(file, [], tools=tools, ended=ended, ids=ids)


def _told_by_events(events: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is known of a message by its id, or of a tool's answer by the id of its call."""
    for event in events:
        match event.get("event"):
            case "model":
                output = object_of(event, "output")
                usage = object_of(output, "usage")
                tokens = usage_of(usage.get("input_tokens"), usage.get("output_tokens"))
                for choice in objects_of(output, "choices"):
                    yield (
                        text_of(object_of(choice, "message"), "id"),
                        {
                            "at": wall_of(event.get("completed") or event.get("timestamp")),
                            "finish_reason": text_of(choice, "stop_reason"),
                            "usage": tokens,
                        },
                    )
            case "tool":
                yield (
                    text_of(event, "id"),
                    {"at": wall_of(event.get("completed") or event.get("timestamp"))},
                )


def _message(entry: Mapping[str, Any], apart: Mapping[str, Any]) -> Message:
    plain = {name: value for name, value in entry.items() if name != "tool_calls"}
    if isinstance(plain.get("content"), str):
        plain["content"] = _whole(plain["content"], apart)
    message = prompt({"messages": [plain]}).messages[0]
    if message.role == "tool":
        (told,) = message.parts or (Text(""),)
        error = text_of(object_of(entry, "error"), "message")
        words = error or getattr(told, "response", "")
        answer = ToolCallResponse(text_of(entry, "tool_call_id"), words, is_error=bool(error))
        return Message("tool", (answer,))
    calls = tuple(
        ToolCall(text_of(call, "id"), text_of(call, "function"), call.get("arguments"))
        for call in objects_of(entry, "tool_calls")
    )
    return Message(message.role, (*message.parts, *calls))


def _whole(text: str, apart: Mapping[str, Any]) -> str:
    """A text, taken from where long ones stand."""
    if not text.startswith(_ATTACHED):
        return text
    return text_of(apart, text.removeprefix(_ATTACHED)) or text
