import pytest

from rerail.llm.schemas import schemas

LIST = {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.mark.parametrize(
    "document",
    [
        {"tools": [{"type": "function", "function": {"name": "list", "parameters": LIST}}]},
        {"tools": [{"type": "function", "name": "list", "parameters": LIST}]},
        {"tools": [{"name": "list", "input_schema": LIST}]},
        {"tools": [{"functionDeclarations": [{"name": "list", "parameters": LIST}]}]},
        {"tools": [{"function_declarations": [{"name": "list", "parameters": LIST}]}]},
        {"input": [{"type": "additional_tools", "tools": [{"name": "list", "parameters": LIST}]}]},
        {"tools": [{"type": "namespace", "tools": [{"name": "list", "parameters": LIST}]}]},
    ],
)
def test_every_api_names_its_tools_elsewhere(document: object) -> None:
    assert schemas(document) == {"list": LIST}


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ({"type": "function", "function": {"name": "now"}}, "now"),
        ({"type": "custom", "name": "exec", "format": {"type": "grammar"}}, "exec"),
        ({"type": "custom", "custom": {"name": "exec"}}, "exec"),
        ({"type": "web_search_20250305", "name": "web_search"}, "web_search"),
        ({"type": "web_search_preview"}, "web_search"),
    ],
)
def test_a_tool_without_a_schema_was_offered_too(tool: object, name: str) -> None:
    assert schemas({"tools": [tool, {"name": "list", "input_schema": LIST}]}) == {
        name: {},
        "list": LIST,
    }


@pytest.mark.parametrize("tools", [None, 7, "x", [7], [{}], [{"function": 7}], {"a": 1}])
def test_what_is_no_list_of_tools_names_none(tools: object) -> None:
    assert schemas({"tools": tools, "input": tools}) == {}
