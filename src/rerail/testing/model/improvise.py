"""A policy for any agent: call each tool on offer once, then sum up. It knows no API and no task.

Nothing in it is clever; it is random in the ways in which real models are, so that two runs differ:
the wording, the tool chosen, the order of arguments.
"""

import json
import random
from collections.abc import Mapping
from typing import Any, Final

from rerail.testing.model.conversation import Asked, Message, Reply, Tool, ToolCall

DEPTH: Final = 6
_OPENINGS: Final = ("Here is what I found", "Done", "In short", "As far as I can see", "Summing up")
_CLOSINGS: Final = (
    "That is all I know.",
    "Tell me if you want more.",
    "I would check this once more.",
    "Nothing else stood out.",
    "This is a simulated model speaking.",
)


def improvise(asked: Asked) -> Reply:
    """JSON where a schema is given, a tool call while one is untried, else a few words."""
    if asked.schema is not None:
        value = sample(asked.schema, asked.chance)
        return Reply(json.dumps(value, ensure_ascii=False))
    tool = _next_tool(asked)
    if tool is not None:
        return Reply(tool_calls=(ToolCall(tool.name, _arguments(tool, asked)),))
    return Reply(_words(asked))


def shuffled(arguments: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    """The same arguments in another order."""
    return dict(chance.sample(list(arguments.items()), len(arguments)))


def sample(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """A value that follows a JSON schema (its `$defs`, `enum`, `anyOf` and types)."""
    return _sample(schema, schema, chance, 0)


def _next_tool(asked: Asked) -> Tool | None:
    if asked.tool_choice == "none":
        return None
    named = [tool for tool in asked.tools if tool.name == asked.tool_choice]
    if named:
        return named[0]
    tried = {call.name for message in _since_user(asked) for call in message.tool_calls}
    untried = [tool for tool in asked.tools if tool.name not in tried]
    if not untried and asked.tool_choice == "required":
        untried = list(asked.tools)
    return asked.chance.choice(untried) if untried else None


def _since_user(asked: Asked) -> list[Message]:
    turns = [number for number, message in enumerate(asked.messages) if message.role == "user"]
    return list(asked.messages[turns[-1] if turns else 0 :])


def _arguments(tool: Tool, asked: Asked) -> dict[str, Any]:
    if tool.custom:
        return {"input": f"simulated input for {tool.name}"}
    value = sample(tool.parameters, asked.chance)
    return shuffled(value, asked.chance) if isinstance(value, dict) else {}


def _words(asked: Asked) -> str:
    text = " ".join(asked.last.text.split())
    quoted = text if len(text) <= 80 else text[:79] + "…"
    opening, closing = asked.chance.choice(_OPENINGS), asked.chance.choice(_CLOSINGS)
    source = "the tool said" if asked.last.role == "tool" else "you said"
    return f"{opening}: {source} “{quoted}”. {closing}"


def _sample(
    schema: Mapping[str, Any], root: Mapping[str, Any], chance: random.Random, depth: int
) -> Any:
    if "$ref" in schema:
        return _sample(_pointed_at(schema["$ref"], root), root, chance, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return chance.choice(schema["enum"])
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        # Past the depth limit the last branch is taken: in practice it is `null`, the way out.
        branch = chance.choice(branches) if depth < DEPTH else branches[-1]
        return _sample(branch, root, chance, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    return _value(
        chance.choice(kind) if isinstance(kind, list) else kind, schema, root, chance, depth
    )


def _value(
    kind: str,
    schema: Mapping[str, Any],
    root: Mapping[str, Any],
    chance: random.Random,
    depth: int,
) -> Any:
    match kind:
        case "object":
            properties = schema.get("properties", {}).items()
            return {name: _sample(part, root, chance, depth + 1) for name, part in properties}
        case "array":
            size = max(schema.get("minItems", 0), chance.randint(1, 2) if depth < DEPTH else 0)
            item = schema.get("items") or {"type": "string"}
            return [_sample(item, root, chance, depth + 1) for _ in range(size)]
        case "integer" | "number":
            low = int(schema.get("minimum", 0))
            return chance.randint(low, int(schema.get("maximum", low + 100)))
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
        case _:
            word = f"simulated {chance.choice(('one', 'two', 'three', 'four'))}"
            return word[: schema.get("maxLength", len(word))]


def _pointed_at(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    place: Any = root
    for name in reference.removeprefix("#/").split("/"):
        place = place.get(name, {}) if isinstance(place, dict) else {}
    return place if isinstance(place, dict) else {}
