"""Another answer of a tool: found by its name or its call, put where each API has it."""

import copy
import json
from typing import Any

import pytest

from rerail.llm.answer import NoSuchResult, Spot, find_result, put_result, results
from tests.llm.test_hint import BLOCKS, CHAT, CHECKS, CONTENTS, HISTORIES, ITEMS

CALLED = {
    "openai.chat_completions": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c1", "function": {"name": "look"}},
                {"id": "c2", "function": {"name": "count"}},
                {"id": "c3", "function": {"name": "look"}},
            ],
        },
        *({"role": "tool", "tool_call_id": f"c{n}", "content": f"old {n}"} for n in (1, 2, 3)),
    ],
    "ollama.chat": [
        {"role": "user", "content": "Go."},
        *({"role": "tool", "tool_name": name, "content": "old"} for name in ("look", "count")),
        {"role": "tool", "tool_name": "look", "content": "old 3"},
    ],
    "anthropic.messages": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
                {"type": "tool_use", "id": "c3", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "old"},
                {"type": "tool_result", "tool_use_id": "c3", "content": "old 3", "is_error": True},
            ],
        },
    ],
    "openai.responses": [
        {"role": "user", "content": "Go."},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "old"},
        {"type": "custom_tool_call", "call_id": "c3", "name": "look", "input": ""},
        {"type": "custom_tool_call_output", "call_id": "c3", "output": "old 3"},
    ],
    "gemini.generate_content": [
        {"role": "user", "parts": [{"text": "Go."}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look", "response": {"result": "old"}}},
                {"functionResponse": {"name": "look", "response": {"result": "old 3"}}},
            ],
        },
    ],
}


def document(api: str, history: list[Any]) -> dict[str, Any]:
    return {HISTORIES[api][0]: copy.deepcopy(history)}


@pytest.mark.parametrize("api", CALLED)
def test_by_a_tools_name_the_last_result_is_meant(api: str) -> None:
    asked = document(api, CALLED[api])
    spot = find_result(api, asked, "look")
    assert put_result(api, asked, spot, "new")
    text = json.dumps(asked)
    assert (text.count("new"), "old 3" in text, "is_error" in text) == (1, False, False)
    assert text.count("old") == json.dumps(CALLED[api]).count("old") - 1


@pytest.mark.parametrize("api", [api for api in CALLED if "c1" in json.dumps(CALLED[api])])
def test_a_call_is_found_by_its_id_wherever_it_stands(api: str) -> None:
    asked = document(api, CALLED[api])
    spot = find_result(api, asked, "c1")
    # The agent may have cut what was before, or put a summary there.
    cut = document(api, [CALLED[api][0], *CALLED[api]])
    assert put_result(api, cut, spot, "new")
    assert "old 3" in json.dumps(cut)
    assert not put_result(api, document(api, CALLED[api][:1]), spot, "new")


@pytest.mark.parametrize("api", CALLED)
def test_a_structured_answer_has_the_form_of_the_api(api: str) -> None:
    asked = document(api, CALLED[api])
    put_result(api, asked, find_result(api, asked, "look"), {"errors": 0})
    plain = '{\\"errors\\": 0}'
    expected = '{"errors": 0}' if api == "gemini.generate_content" else plain
    assert expected in json.dumps(asked)


def test_a_gemini_answer_that_is_a_text_stands_in_an_object() -> None:
    asked = document("gemini.generate_content", CALLED["gemini.generate_content"])
    spot = find_result("gemini.generate_content", asked, "look")
    put_result("gemini.generate_content", asked, spot, "new")
    answered = asked["contents"][1]["parts"][1]["functionResponse"]
    assert answered["response"] == {"result": "new"}


@pytest.mark.parametrize(
    ("api", "history", "named"),
    [
        ("openai.chat_completions", CHAT, "c2"),
        ("anthropic.messages", BLOCKS, "t"),
        ("openai.responses", ITEMS, "t"),
        ("gemini.generate_content", CONTENTS, "t"),
    ],
)
def test_the_order_of_a_history_stays_what_its_api_wants(
    api: str, history: list[Any], named: str
) -> None:
    asked = document(api, history)
    put_result(api, asked, find_result(api, asked, named), "new")
    CHECKS[api](asked[HISTORIES[api][0]])


def test_what_is_not_there_is_answered_with_what_is() -> None:
    asked = document("openai.chat_completions", CALLED["openai.chat_completions"])
    with pytest.raises(NoSuchResult, match="no result of `wash`; there are results of look, count"):
        find_result("openai.chat_completions", asked, "wash")
    with pytest.raises(NoSuchResult, match="there is no result of a tool"):
        find_result("openai.chat_completions", {"messages": ["odd", {"role": "user"}]}, "look")
    assert list(results("another.api", asked)) == []
    assert not Spot("", 1).is_in(next(results("openai.chat_completions", asked)))
