"""HAR files of proxies and browsers: the model calls in them, as a conversation.

Source: HAR 1.2. It is the one format with what crossed the wire, as far as its writer kept it:
bodies as text, without the boundaries and times of chunks. Exchanges that are no model calls are
counted.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from rerail.formats.file import Foreign
from rerail.formats.making import Teller, wall_of
from rerail.formats.spans import Span, tell
from rerail.llm.calls import model_call
from rerail.llm.meaning import completion_of, prompt_of
from rerail.llm.schemas import schemas
from rerail.llm.view import Completion, Message, object_of, objects_of, text_of
from rerail.trace.story import Gap, Story
from rerail.wire.any_json import loaded

NAME: Final = "har"
_REFUSED: Final = 400


def recognises(file: Foreign) -> bool:
    """Whether the document is a HAR log."""
    document = file.document
    log = object_of(document, "log") if isinstance(document, dict) else {}
    return isinstance(log.get("entries"), list)


def read(file: Foreign) -> list[Story]:
    """The one log of a file."""
    teller = Teller(file.name)
    entries = objects_of(object_of(file.document, "log"), "entries")
    spans: list[Span] = []
    tools: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        request = object_of(entry, "request")
        api = _api(request)
        if api:
            asked = text_of(object_of(request, "postData"), "text")
            document = loaded(asked)
            tools |= schemas(document) if isinstance(document, dict) else {}
            spans.append(_span(entry, api, asked))
    tell(teller, spans)
    return [teller.story(file, list(_gaps(len(entries) - len(spans), entries)), tools=tools)]


def _gaps(others: int, entries: Any) -> Iterator[Gap]:
    if others:
        yield Gap(f"exchanges that are no model calls: {others}", "what tools were asked and told")
    if any(not _body(object_of(entry, "response")) for entry in entries):
        yield Gap("replies whose body was not kept", "what was answered")


def _api(request: Any) -> str:
    try:
        url = urlsplit(text_of(request, "url"))
        host = url.hostname or ""
    except ValueError:
        return ""
    target = url.path + (f"?{url.query}" if url.query else "")
    headers = [
        (text_of(one, "name"), text_of(one, "value")) for one in objects_of(request, "headers")
    ]
    call = model_call(text_of(request, "method"), host, target or "/", headers)
    return call.api if call else ""


def _span(entry: Any, api: str, asked: str) -> Span:
    response = object_of(entry, "response")
    kind = text_of(object_of(response, "content"), "mimeType")
    prompt = prompt_of(api, asked.encode("utf-8", "replace"))
    said = completion_of(api, _body(response), kind) or Completion()
    start = wall_of(entry.get("startedDateTime")) or 0
    took = entry.get("time")
    took_ns = round(took * 10**6) if isinstance(took, int | float) and 0 < took < 10**9 else 0
    return Span(
        start,
        start + took_ns,
        asked=prompt.messages if prompt else (),
        answered=(said.message,) if said.message else (Message("assistant", ()),),
        model=said.model,
        finish_reason=said.finish_reason,
        usage=said.usage,
        error=_error(response, said),
    )


def _error(response: Any, said: Completion) -> str:
    status = response.get("status")
    if isinstance(status, int) and status >= _REFUSED:
        return f"{status} {said.error or text_of(response, 'statusText')}".strip()
    return said.error if status else said.error or "no reply"


def _body(response: Any) -> bytes:
    content = object_of(response, "content")
    text = text_of(content, "text")
    if content.get("encoding") != "base64":
        return text.encode("utf-8", "replace")
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""
