"""The JSON schemas of the tools that a request offers, by the tools' names. Knows no tape.

Every API puts them in another place: `function.parameters` (chat completions, Ollama), `parameters`
(Responses), `input_schema` (Anthropic), `functionDeclarations` (Gemini).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rerail.llm.view import Document, object_of, objects_of, text_of


def schemas(document: Document) -> dict[str, Mapping[str, Any]]:
    """Each tool's schema in a request's document; a tool that has none is not named."""
    found = {}
    for tool in _tools(document):
        schema = object_of(tool, "parameters") or object_of(tool, "input_schema")
        if text_of(tool, "name") and schema:
            found[text_of(tool, "name")] = schema
    return found


def _tools(document: Document) -> Iterator[Document]:
    for tool in objects_of(document, "tools"):
        yield object_of(tool, "function") or tool
        yield from objects_of(tool, "functionDeclarations")
        yield from objects_of(tool, "function_declarations")
