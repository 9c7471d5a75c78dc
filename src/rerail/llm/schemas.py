"""The tools that a request offers, by name, with the JSON schemas of their arguments. No tape.

Every API puts them in another place: `function.parameters` (chat completions, Ollama), `parameters`
(Responses), `input_schema` (Anthropic), `functionDeclarations` (Gemini). A tool that takes a text,
and one that the provider runs itself, has none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rerail.llm.view import Document, object_of, objects_of, text_of


def schemas(document: Document) -> dict[str, Mapping[str, Any]]:
    """Each offered tool's schema, an empty one where it has none."""
    return {
        name: object_of(tool, "parameters") or object_of(tool, "input_schema")
        for tool in _tools(document)
        if (name := text_of(tool, "name") or text_of(tool, "type").removesuffix("_preview"))
    }


def _tools(document: Document) -> Iterator[Document]:
    offered = [*objects_of(document, "tools")]
    for entry in objects_of(document, "input"):
        if entry.get("type") == "additional_tools":
            offered += objects_of(entry, "tools")
    for tool in offered:
        grouped = [
            *objects_of(tool, "functionDeclarations"),
            *objects_of(tool, "function_declarations"),
            *(objects_of(tool, "tools") if tool.get("type") == "namespace" else ()),
        ]
        yield from grouped or [object_of(tool, "function") or object_of(tool, "custom") or tool]
