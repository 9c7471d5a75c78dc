"""The table of volatile fields, row by row, and what a user adds."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from rerail.compare.alike import EXPLAINED as OF_IDS
from rerail.compare.canon import BodyKey, Request, body_key, head_key
from rerail.compare.facts import EXPLAINED as OF_FACTS
from rerail.compare.misses import Miss
from rerail.compare.paths import places
from rerail.compare.reasons import EXPLAINED
from rerail.compare.values import read_json
from rerail.compare.volatile import TABLE, Rules, blank
from rerail.errors import UsageProblem

UUID_1 = "0198f0c2-aaaa-7000-8000-000000000001"
UUID_2 = "0198f0c2-bbbb-7000-8000-000000000002"
HEX_1, HEX_2 = "0" * 64, "f" * 64

FUNCTION = "functionResponse"
PASSED = "internal_chat_message_metadata_passthrough"
MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"

ROWS = [
    (
        "claude-code session",
        MESSAGES,
        {"metadata": {"user_id": f"user_{HEX_1}_account__session_{UUID_1}"}},
        {"metadata": {"user_id": f"user_{HEX_1}_account__session_{UUID_2}"}},
    ),
    (
        "claude-code device",
        MESSAGES,
        {"metadata": {"user_id": json.dumps({"device_id": HEX_1})}},
        {"metadata": {"user_id": json.dumps({"device_id": HEX_2})}},
    ),
    (
        "claude-code check value",
        MESSAGES,
        {"system": [{"type": "text", "text": "x-header: v=1; cch=0a1b2;"}]},
        {"system": [{"type": "text", "text": "x-header: v=1; cch=fffff;"}]},
    ),
    (
        "gemini-cli process group",
        "/v1/chat/completions",
        {"messages": [{"role": "tool", "content": "Signal: 0\nProcess Group PGID: 26220"}]},
        {"messages": [{"role": "tool", "content": "Signal: 0\nProcess Group PGID: 269"}]},
    ),
    (
        "gemini-cli process group",
        "/v1/chat/completions",
        {"messages": [{"content": [{"text": "Process Group PGID: 26220"}]}]},
        {"messages": [{"content": [{"text": "Process Group PGID: 269"}]}]},
    ),
    (
        "gemini-cli process group",
        "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
        {"contents": [{"parts": [{FUNCTION: {"response": {"output": "Process Group PGID: 7"}}}]}]},
        {"contents": [{"parts": [{FUNCTION: {"response": {"output": "Process Group PGID: 9"}}}]}]},
    ),
    (
        "openai-agents cache key",
        "/v1/chat/completions",
        {"prompt_cache_key": "agents-sdk:run:00ff"},
        {"prompt_cache_key": "agents-sdk:run:1234"},
    ),
    (
        "session cache key",
        RESPONSES,
        {"prompt_cache_key": UUID_1},
        {"prompt_cache_key": UUID_2},
    ),
    (
        "codex item id",
        RESPONSES,
        {"input": [{"id": f"msg_{UUID_1}", "role": "user"}]},
        {"input": [{"id": f"msg_{UUID_2}", "role": "user"}]},
    ),
    (
        "codex item metadata",
        RESPONSES,
        {"input": [{"metadata": {"create_time": 1.5, "turn_id": "a"}}]},
        {"input": [{"metadata": {"create_time": 2.5, "turn_id": "b"}}]},
    ),
    (
        "codex client metadata",
        RESPONSES,
        {"client_metadata": {"window": 1}},
        {"client_metadata": {"window": 2, "more": 3}},
    ),
    (
        "codex chunk id",
        RESPONSES,
        {"input": [{"output": "Chunk ID: 0a1b2c\nhello"}]},
        {"input": [{"output": "Chunk ID: ffffff\nhello"}]},
    ),
    (
        "codex wall time",
        RESPONSES,
        {"input": [{"output": "Wall time: 0.1 seconds\nhello"}]},
        {"input": [{"output": "Wall time: 12.0421 seconds\nhello"}]},
    ),
    (
        "codex item metadata",
        RESPONSES,
        {"input": [{PASSED: {"create_time": 1.5, "turn_id": UUID_1, "kinds": []}}]},
        {"input": [{PASSED: {"create_time": 2.5, "turn_id": UUID_2, "kinds": []}}]},
    ),
    (
        "codex chunk id",
        RESPONSES,
        {"input": [{"output": [{"text": "Chunk ID: 0a1b2c\nhello"}]}]},
        {"input": [{"output": [{"text": "Chunk ID: ffffff\nhello"}]}]},
    ),
    (
        "codex wall time",
        RESPONSES,
        {"input": [{"output": [{"text": "Wall time 0.1 seconds\nhello"}]}]},
        {"input": [{"output": [{"text": "Wall time 12.0421 seconds\nhello"}]}]},
    ),
]


def keyed(make: SimpleNamespace, body: object, target: str, *ignore: str) -> BodyKey:
    rules = Rules(ignore)
    request: Request = make.request(body, target=target, host=host_of(target))
    call = head_key(request, rules).call
    return body_key(request, rules.for_api(call.api if call else ""))


def host_of(target: str) -> str:
    return "api.anthropic.com" if target == MESSAGES else "api.openai.com"


def test_every_row_of_the_table_is_tested_here() -> None:
    assert {name for name, *_ in ROWS} == {rule.name for rule in TABLE}
    assert all(rule.reason for rule in TABLE)
    reached = {
        (rule.name, rule.path)
        for rule in TABLE
        for name, _, one, _ in ROWS
        if rule.name == name and places(read_json(json.dumps(one).encode()), rule.path)
    }
    assert reached == {(rule.name, rule.path) for rule in TABLE}


def test_every_rule_stands_in_the_reference() -> None:
    reference = Path(__file__).parents[2] / "docs" / "reference" / "matching.md"
    text = reference.read_text("utf-8")
    built_in = [name for name in {**EXPLAINED, **OF_IDS, **OF_FACTS} if name != "side call"]
    for name in [*built_in, *(rule.name for rule in TABLE)]:
        assert f"`{name}`" in text


@pytest.mark.parametrize(("name", "target", "one", "other"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_makes_equal_what_it_says_and_is_named(
    make: SimpleNamespace, name: str, target: str, one: object, other: object
) -> None:
    first, second = keyed(make, one, target), keyed(make, other, target)
    assert first.strict != second.strict
    assert first.loose == second.loose
    assert {item.rule for item in set(first.blanked) ^ set(second.blanked)} == {name}


@pytest.mark.parametrize(("name", "target", "one", "other"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_is_for_its_own_api_alone(
    make: SimpleNamespace, name: str, target: str, one: object, other: object
) -> None:
    if any(rule.name == name and rule.api for rule in TABLE):
        first, second = keyed(make, one, "/elsewhere"), keyed(make, other, "/elsewhere")
        assert first.loose != second.loose


@pytest.mark.parametrize(
    ("target", "one", "other"),
    [
        (
            MESSAGES,
            {"metadata": {"user_id": "customer-1"}},
            {"metadata": {"user_id": "customer-2"}},
        ),
        (RESPONSES, {"prompt_cache_key": "orders-v1"}, {"prompt_cache_key": "orders-v2"}),
        (RESPONSES, {"input": [{"id": "msg_abc"}]}, {"input": [{"id": "msg_def"}]}),
        (RESPONSES, {"input": [{"output": "exit 0"}]}, {"input": [{"output": "exit 1"}]}),
    ],
)
def test_values_that_an_author_wrote_count(
    make: SimpleNamespace, target: str, one: object, other: object
) -> None:
    assert keyed(make, one, target).loose != keyed(make, other, target).loose


def test_a_user_leaves_a_field_out_wherever_it_stands(make: SimpleNamespace) -> None:
    one = {"messages": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]}
    other = {"messages": [{"id": 3, "text": "a"}, {"text": "b"}]}
    first = keyed(make, one, "/any", "messages[*].id")
    second = keyed(make, other, "/any", "messages[*].id")
    assert first.loose == second.loose
    assert {item.rule for item in first.blanked} == {"ignored messages[*].id"}


def test_a_left_out_list_item_keeps_the_places_of_the_others() -> None:
    value, _ = blank({"a": [1, 2, 3]}, Rules(["a[0]"]).for_api(""))  # type: ignore[list-item]
    assert value == {"a": [b"*", 2, 3]}


def test_a_whole_body_can_be_left_out_key_by_key(make: SimpleNamespace) -> None:
    assert (
        keyed(make, {"a": 1}, "/any", "$.*").loose == keyed(make, {"b": [2]}, "/any", "$.*").loose
    )


def test_a_user_leaves_out_a_query_and_a_header(make: SimpleNamespace) -> None:
    matcher = make.matcher(
        make.request(target="/a?nonce=1&q=x", headers=[("accept", "a/a")]),
        ignore=["query:nonce", "header:Accept"],
    )
    match = matcher.match(make.request(target="/a?nonce=2&q=x", headers=[("accept", "b/b")]))
    assert not isinstance(match, Miss)
    assert match.rules == ("ignored header:accept", "ignored query:nonce")


@pytest.mark.parametrize("text", ["query:", "header: ", "messages[", ""])
def test_what_cannot_be_ignored_is_a_usage_problem(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        Rules([text])
    assert caught.value.hint


def test_every_rule_is_listed_with_its_reason() -> None:
    listed = Rules(["a.b", "query:x", "header:y"]).listed()
    names = [rule.name for rule in listed]
    assert len(names) == len(set(names))
    assert names[-3:] == ["ignored a.b", "ignored header:y", "ignored query:x"]
    assert all(rule.reason for rule in listed)
    assert {rule.source for rule in listed} == {"table", "user"}
