import json
import random
from typing import Any

import jsonschema
import pytest

from rerail.testing.model.conversation import Asked, Message, Tool, ToolCall
from rerail.testing.model.improvise import improvise, sample, shuffled

TOOLS = (
    Tool("one", "", {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}),
    Tool("two", "", {}),
)
USER = Message("user", "do it")


def ask(*messages: Message, **options: Any) -> Asked:
    return Asked("chat", "m", messages or (USER,), chance=random.Random(5), **options)


def test_each_tool_is_called_once_and_then_it_sums_up() -> None:
    messages, called = [USER], []
    while calls := improvise(ask(*messages, tools=TOOLS)).tool_calls:
        called.append(calls[0].name)
        call = ToolCall(calls[0].name, calls[0].arguments, f"c{len(called)}")
        messages += [Message("assistant", "", (call,)), Message("tool", "result", (), call.call_id)]
    assert sorted(called) == ["one", "two"]
    assert "result" in improvise(ask(*messages, tools=TOOLS)).text


def test_the_tool_choice_is_obeyed() -> None:
    assert not improvise(ask(tools=TOOLS, tool_choice="none")).tool_calls
    assert improvise(ask(tools=TOOLS, tool_choice="two")).tool_calls[0].name == "two"
    called = Message("assistant", "", (ToolCall("one", {}), ToolCall("two", {})))
    assert improvise(ask(USER, called, tools=TOOLS, tool_choice="required")).tool_calls
    assert not improvise(ask(USER, called, tools=TOOLS)).tool_calls


def test_a_schema_is_answered_with_its_json() -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    assert isinstance(json.loads(improvise(ask(schema=schema)).text)["ok"], bool)


def test_arguments_change_their_order() -> None:
    orders = {tuple(shuffled({"a": 1, "b": 2, "c": 3}, random.Random(n))) for n in range(20)}
    assert len(orders) > 1


SCHEMAS: list[dict[str, Any]] = [
    {"enum": ["a", 2]},
    {"const": 5},
    {"type": ["string", "null"]},
    {"type": "string", "maxLength": 3},
    {"type": "integer", "minimum": 5, "maximum": 6},
    {"type": "array", "items": {"type": "number"}, "minItems": 2},
    {"anyOf": [{"type": "object", "properties": {"x": {"type": "null"}}}, {"type": "boolean"}]},
    {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                "required": ["next"],
            }
        },
        "$ref": "#/$defs/node",
    },
]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("seed", range(5))
def test_a_sample_follows_its_schema(schema: dict[str, Any], seed: int) -> None:
    jsonschema.validate(sample(schema, random.Random(seed)), schema)


def test_a_reference_to_nowhere_is_still_a_value() -> None:
    assert isinstance(sample({"$ref": "#/$defs/none"}, random.Random(1)), str)
