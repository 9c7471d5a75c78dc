"""Inspect's `.eval` logs: a zip archive with a JSON document for each sample.

Source: the files themselves. What a scorer said of a sample is a judgment, and not read.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

from rerail.formats.file import LARGEST_DOCUMENT, Foreign, ImportRefused, Value, loads
from rerail.formats.making import Teller
from rerail.llm.chat import prompt
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
_ENCRYPTED: Final = 0x1


def read_archive(path: Path) -> list[Story]:
    """A story for each sample. Raises ImportRefused."""
    try:
        with zipfile.ZipFile(path) as archive:
            samples = [one for one in archive.infolist() if _is_sample(one)]
            if not samples or len(samples) > _MOST_SAMPLES:
                what = f"it holds {len(samples)} samples of an Inspect log"
                raise ImportRefused(f"cannot import {path}: {what}", hint="from 1 to 10,000")
            return [_story(path, archive, sample, len(samples) > 1) for sample in samples]
    except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError) as error:
        hint = "was it cut short? newer logs are compressed in a way that is not read yet"
        raise ImportRefused(f"cannot import {path}: {error}", hint=hint) from error


def _is_sample(member: zipfile.ZipInfo) -> bool:
    return member.filename.startswith("samples/") and member.filename.endswith(".json")


def _story(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, several: bool) -> Story:
    if member.file_size > LARGEST_DOCUMENT:
        what = f"{member.filename} is larger than 256 MiB"
        raise ImportRefused(f"cannot import {path}: {what}", hint="export it in parts")
    if member.flag_bits & _ENCRYPTED:
        what = f"{member.filename} is encrypted"
        raise ImportRefused(f"cannot import {path}: {what}", hint="import it without a password")
    document = loads(archive.read(member), path)
    if not isinstance(document, dict):
        raise ImportRefused(f"cannot import {path}: {member.filename} is no sample")
    name = member.filename.removeprefix("samples/").removesuffix(".json")
    teller = Teller(f"{path.name} {name}" if several else path.name)
    for entry in objects_of(document, "messages"):
        teller.say(_message(entry), model=text_of(entry, "model"))
    error = text_of(object_of(document, "error"), "message")
    limit = text_of(object_of(document, "limit"), "type")
    ids = {"sample": str(document.get("id", "")), "run": text_of(document, "uuid")}
    file = Foreign(path, lines=False, values=(Value(0, document),))
    ended = f"limit: {limit}" if limit else f"error: {error}" if error else "completed"
    return teller.story(file, [], ended=ended, ids=ids)


def _message(entry: dict[str, Any] | Any) -> Message:
    if entry.get("role") == "tool":
        (told,) = prompt({"messages": [entry]}).messages[0].parts or (Text(""),)
        error = text_of(object_of(entry, "error"), "message")
        words = error or getattr(told, "response", "")
        answer = ToolCallResponse(text_of(entry, "tool_call_id"), words, is_error=bool(error))
        return Message("tool", (answer,))
    plain = {name: value for name, value in entry.items() if name != "tool_calls"}
    message = prompt({"messages": [plain]}).messages[0]
    calls = tuple(
        ToolCall(text_of(call, "id"), text_of(call, "function"), call.get("arguments"))
        for call in objects_of(entry, "tool_calls")
    )
    return Message(message.role, (*message.parts, *calls))
