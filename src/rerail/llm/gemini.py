"""Google's generateContent as a view, whole or streamed. Knows one API's shape, no tape.

Source: the API reference of `models.generateContent` and `streamGenerateContent`.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rerail.llm.view import (
    Completion,
    Document,
    Message,
    Other,
    Part,
    Prompt,
    Reasoning,
    Text,
    ToolCall,
    ToolCallResponse,
    Usage,
    count_of,
    error_of,
    names_of,
    object_of,
    objects_of,
    role_of,
    text_of,
)


def prompt(document: Document) -> Prompt:
    """What a request asks; the model's name stands in its path, not in its body."""
    system = object_of(document, "systemInstruction") or object_of(document, "system_instruction")
    messages = [Message("system", tuple(_parts(system)))] if system else []
    messages += [_content(entry) for entry in objects_of(document, "contents")]
    tools = tuple(
        name
        for tool in objects_of(document, "tools")
        for name in names_of(objects_of(tool, "functionDeclarations"))
    )
    return Prompt(text_of(document, "model"), tuple(messages), tools)


def completion(document: Document) -> Completion:
    """What a reply in one document says: its first candidate."""
    return streamed([document])


def streamed(documents: Iterable[Document]) -> Completion:
    """What the documents of a stream say together."""
    parts: list[Part] = []
    last: dict[str, Any] = {}
    finish = ""
    for document in documents:
        last.update({name: value for name, value in document.items() if name != "candidates"})
        candidate = next(iter(objects_of(document, "candidates")), {})
        finish = text_of(candidate, "finishReason") or finish
        _join(parts, _parts(object_of(candidate, "content")))
    feedback = text_of(object_of(last, "promptFeedback"), "blockReason")
    return Completion(
        model=text_of(last, "modelVersion"),
        message=Message("assistant", tuple(parts)) if parts or finish else None,
        finish_reason=finish or feedback,
        usage=_usage(object_of(last, "usageMetadata")),
        response_id=text_of(last, "responseId"),
        error=error_of(last),
    )


def _join(parts: list[Part], more: Iterable[Part]) -> None:
    """Texts that come in pieces are one text."""
    for part in more:
        before = parts[-1] if parts else None
        if isinstance(part, Text) and isinstance(before, Text):
            parts[-1] = Text(before.content + part.content)
        else:
            parts.append(part)


def _content(entry: Document) -> Message:
    parts = tuple(_parts(entry))
    told = parts and all(isinstance(part, ToolCallResponse) for part in parts)
    return Message("tool" if told else role_of(entry) or "user", parts)


def _parts(content: Document) -> Iterator[Part]:
    for part in objects_of(content, "parts"):
        call, response = object_of(part, "functionCall"), object_of(part, "functionResponse")
        if call:
            yield ToolCall(text_of(call, "id"), text_of(call, "name"), call.get("args"))
        elif response:
            told = json.dumps(response.get("response"), ensure_ascii=False)
            yield ToolCallResponse(text_of(response, "id") or text_of(response, "name"), told)
        elif "text" in part:
            words = text_of(part, "text")
            yield Reasoning(words) if part.get("thought") is True else Text(words)
        else:
            yield Other(next(iter(part), ""))


def _usage(usage: Document) -> Usage:
    return Usage(
        count_of(usage, "promptTokenCount"),
        count_of(usage, "candidatesTokenCount"),
        count_of(usage, "cachedContentTokenCount"),
        count_of(usage, "thoughtsTokenCount"),
    )
