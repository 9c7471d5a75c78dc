"""A hint in each form: where the strictest reading of an API allows it, and there again."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.llm.hint import NoPlaceForHint, place_in, with_hint

HINT = "Rename it in api.ts too."
CHAT = [
    {"role": "system", "content": "You mend code."},
    {"role": "user", "content": "Mend it."},
    {"role": "assistant", "tool_calls": [{"id": "c1"}, {"id": "c2"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
    {"role": "tool", "tool_call_id": "c2", "content": "two"},
]
BLOCKS = [
    {"role": "user", "content": "Mend it."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "t", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "one"}]},
]
ITEMS = [
    {"role": "user", "content": "Mend it."},
    {"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "one"},
]
CONTENTS = [
    {"role": "user", "parts": [{"text": "Mend it."}]},
    {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {}}}]},
]
HISTORIES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "openai.chat_completions": ("messages", CHAT),
    "ollama.chat": ("messages", CHAT),
    "anthropic.messages": ("messages", BLOCKS),
    "openai.responses": ("input", ITEMS),
    "gemini.generate_content": ("contents", CONTENTS),
}


def request(field: str, history: Any) -> bytes:
    return json.dumps({"model": "m", field: history, "temperature": 1.0}).encode()


def check_chat(history: list[dict[str, Any]]) -> None:
    """OpenAI: the messages right after a message with tool calls are the results of all of them."""
    owed: set[str] = set()
    for message in history:
        if message["role"] == "tool":
            owed.remove(message["tool_call_id"])
            continue
        assert not owed, "a tool's call is not answered"
        owed = {call["id"] for call in message.get("tool_calls", ())}
    assert not owed


def check_turns(history: list[dict[str, Any]]) -> None:
    """Ollama: calls have no ids; so many results follow them, and nothing stands between."""
    owed = 0
    for message in history:
        assert (message["role"] == "tool") == (owed > 0)
        owed = owed - 1 if owed else len(message.get("tool_calls", ()))
    assert owed == 0


def check_blocks(history: list[dict[str, Any]]) -> None:
    """Anthropic: a user begins; the message after tool uses begins with the results of them all."""
    assert history[0]["role"] == "user"
    owed: list[str] = []
    for message in history:
        content = message["content"]
        blocks = [] if isinstance(content, str) else content
        kinds = [block["type"] for block in blocks]
        assert [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"] == owed
        assert kinds[: len(owed)] == ["tool_result"] * len(owed)
        owed = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert not owed


def check_items(history: list[dict[str, Any]]) -> None:
    """OpenAI: what tools were called for is told before anybody says anything else."""
    owed: set[str] = set()
    for item in history:
        kind = item.get("type", "message")
        if kind.endswith("_call"):
            owed.add(item["call_id"])
        elif kind.endswith("_call_output"):
            owed.remove(item["call_id"])
        else:
            assert not owed or kind == "reasoning", "a tool's call is not answered"
    assert not owed


def check_contents(history: list[dict[str, Any]]) -> None:
    """Gemini: the turn after function calls has a response for each of them, and no less."""
    for turn, following in pairwise(history):
        calls = sum("functionCall" in part for part in turn["parts"])
        assert sum("functionResponse" in part for part in following["parts"]) == calls


CHECKS = {
    "openai.chat_completions": check_chat,
    "ollama.chat": check_turns,
    "anthropic.messages": check_blocks,
    "openai.responses": check_items,
    "gemini.generate_content": check_contents,
}


@pytest.mark.parametrize("api", HISTORIES)
def test_a_hint_stands_last_and_breaks_no_rule(api: str) -> None:
    field, history = HISTORIES[api]
    body = request(field, history)
    hinted, place = with_hint(body, HINT, place_in(api, body))
    document = json.loads(hinted)
    CHECKS[api](document[field])
    assert HINT in json.dumps(document[field][-1])
    assert not place.moved
    assert {**document, field: history} == json.loads(body)


@pytest.mark.parametrize("api", HISTORIES)
def test_it_keeps_its_place_when_the_history_grows(api: str) -> None:
    field, history = HISTORIES[api]
    first = request(field, history)
    place = place_in(api, first)
    hinted = json.loads(with_hint(first, HINT, place)[0])[field]
    grown, stayed = with_hint(request(field, [*history, *history[-2:]]), HINT, place)
    assert json.loads(grown)[field][: len(hinted)] == hinted
    assert stayed == place


@pytest.mark.parametrize("api", HISTORIES)
def test_where_the_history_was_cut_it_stands_first(api: str) -> None:
    field, history = HISTORIES[api]
    place = place_in(api, request(field, history))
    cut = history[:2] if "role" in history[1] and history[1]["role"] == "user" else history[:1]
    hinted, moved = with_hint(request(field, cut), HINT, place)
    document = json.loads(hinted)
    CHECKS[api](document[field])
    assert HINT in hinted.decode()
    assert moved.moved


def test_a_plain_text_for_an_input_becomes_a_message() -> None:
    body = request("input", "Mend it.")
    hinted, _ = with_hint(body, HINT, place_in("openai.responses", body))
    said = json.loads(hinted)["input"]
    assert [item["role"] for item in said] == ["user", "user"]
    assert said[0]["content"] == "Mend it."


@pytest.mark.parametrize(
    ("api", "body", "why"),
    [
        ("openai.chat_completions", b"{", "not JSON"),
        ("openai.chat_completions", b"[]", "not a JSON object"),
        ("openai.chat_completions", b"{}", "no `messages`"),
        ("openai.responses", b'{"input": 3}', "no `input`"),
        ("openai.completions", b'{"prompt": "x"}', "no place for a hint"),
        ("openai.chat_completions", b"[" * 100_000, "not JSON"),
    ],
)
def test_what_has_no_place_for_a_hint_says_why(api: str, body: bytes, why: str) -> None:
    with pytest.raises(NoPlaceForHint, match=why):
        place_in(api, body)


def test_half_a_surrogate_pair_in_the_history_is_kept() -> None:
    body = b'{"messages": [{"role": "user", "content": "\\ud83d"}]}'
    hinted, _ = with_hint(body, HINT, place_in("openai.chat_completions", body))
    assert json.loads(hinted)["messages"][0] == json.loads(body)["messages"][0]


@given(hint=st.text(), more=st.dictionaries(st.text(), st.integers() | st.text()))
def test_any_text_comes_through_whole(hint: str, more: dict[str, Any]) -> None:
    document = {**more, "messages": CHAT}
    body = json.dumps(document).encode()
    hinted, _ = with_hint(body, hint, place_in("openai.chat_completions", body))
    told = json.loads(hinted)
    assert told["messages"] == [*CHAT, {"role": "user", "content": hint}]
    assert {**told, "messages": CHAT} == document
