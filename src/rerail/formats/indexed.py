"""Messages as a tracer's attributes that count: `gen_ai.prompt.0.content`, `llm.input_messages.0…`.

The first form is Traceloop's older one, the second OpenInference's. Knows no file and no span.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rerail.llm.arguments import parsed
from rerail.llm.view import Message, Part, Text, ToolCall, ToolCallResponse

_BEFORE: Final = (
    r"(?:gen_ai\.(prompt|completion)|llm\.(input|output)_messages)\.(\d{1,6})\.(?:message\.)?"
)
_FIELD: Final = re.compile(_BEFORE + r"(role|content|finish_reason|tool_call_id)")
_PIECE: Final = re.compile(_BEFORE + r"contents\.(\d{1,6})\.message_content\.text")
_CALL: Final = re.compile(
    _BEFORE + r"tool_calls\.(\d{1,6})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)"
)
_TOOL: Final = re.compile(r"llm\.tools\.\d{1,6}\.tool\.json_schema")
_SIDES: Final = {"prompt": "input", "completion": "output"}

Attributes = Mapping[str, Any]


def messages(attributes: Attributes, side: str) -> Iterator[Message]:
    """The messages of a side, `input` or `output`."""
    fields: dict[int, dict[str, str]] = {}
    calls: dict[int, dict[int, dict[str, str]]] = {}
    for found, value in _matches(attributes, _FIELD, side):
        fields.setdefault(int(found[3]), {})[found[4]] = str(value)
    for found, value in _matches(attributes, _PIECE, side):
        of = fields.setdefault(int(found[3]), {})
        of["content"] = of.get("content", "") + str(value)
    for found, value in _matches(attributes, _CALL, side):
        of = calls.setdefault(int(found[3]), {}).setdefault(int(found[4]), {})
        of[found[5]] = str(value)
    for number in sorted(fields.keys() | calls.keys()):
        yield _message(fields.get(number, {}), calls.get(number, {}).values(), side)


def _message(fields: Mapping[str, str], calls: Any, side: str) -> Message:
    role = fields.get("role") or ("user" if side == "input" else "assistant")
    content = fields.get("content", "")
    if role == "tool" and fields.get("tool_call_id"):
        return Message(role, (ToolCallResponse(fields["tool_call_id"], content),))
    parts: list[Part] = [Text(content)] if content else []
    parts += [
        ToolCall(one.get("id", ""), one.get("name", ""), parsed(one.get("arguments")))
        for one in calls
    ]
    return Message(role, tuple(parts))


def finish_reason(attributes: Attributes) -> str:
    """Why the model stopped, where it stands beside its first message."""
    found = _matches(attributes, _FIELD, "output")
    return next((str(value) for match, value in found if match[4] == "finish_reason"), "")


def tools(attributes: Attributes) -> Iterator[Any]:
    """The tools on offer, as the API has them."""
    for key, value in attributes.items():
        if _TOOL.fullmatch(key):
            yield parsed(value)


def _matches(
    attributes: Attributes, pattern: re.Pattern[str], side: str
) -> Iterator[tuple[re.Match[str], Any]]:
    for key, value in attributes.items():
        found = pattern.fullmatch(key)
        if found and (_SIDES.get(found[1] or "") or found[2]) == side:
            yield found, value
