"""What a model is sent is in its API's own form, and both APIs' replies are understood."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from rerail.errors import UsageProblem
from rerail.experiment.ask import completion, joined, request
from rerail.experiment.contract import Model

OPENAI = Model(url="https://models.example.com/v1/", name="small", sampling={"temperature": 0.5})
CLAUDE = Model(api="anthropic", url="https://api.anthropic.com/v1", name="claude-x")
SAID = [
    {"role": "system", "content": "You repair files."},
    {"role": "user", "content": "Repair them."},
    {"role": "assistant", "content": '{"tool":"check"}'},
    {"role": "user", "content": "2 errors"},
    {"role": "user", "content": "A hint."},
]
ACTIONS = {"type": "object"}


def parts(model: Model, key: str = "k") -> tuple[str, Mapping[str, Any]]:
    asked = request(model, SAID, key=key, seed=7, actions=ACTIONS)
    head, _, body = asked.content.partition(b"\r\n\r\n")
    return head.decode(), json.loads(body)


def test_the_request_goes_where_the_url_says() -> None:
    asked = request(OPENAI, SAID, key="", seed=7, actions=ACTIONS, connection=3)
    route = asked.route
    assert (route.scheme, route.host, route.port) == ("https", "models.example.com", 443)
    assert route.connection_id == 3
    head, _, body = asked.content.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: models.example.com\r\n")
    assert f"Content-Length: {len(body)}\r\n".encode() in head


def test_a_query_stays_behind_the_apis_path() -> None:
    azure = Model(
        url="https://x.example.com/openai/deployments/d/?api-version=2024-10-21", name="d"
    )
    line, _, rest = parts(azure)[0].partition("\r\n")
    assert line == ("POST /openai/deployments/d/chat/completions?api-version=2024-10-21 HTTP/1.1")
    assert rest.startswith("Host: x.example.com\r\n")


def test_keys_stand_where_the_api_wants_them() -> None:
    assert "Authorization: Bearer k" in parts(OPENAI)[0]
    assert "x-api-key: k" in parts(CLAUDE)[0]
    assert "anthropic-version: 2023-06-01" in parts(CLAUDE, "")[0]
    assert "x-api-key" not in parts(CLAUDE, "")[0]
    assert "Authorization" not in parts(OPENAI, "")[0]


def test_a_seed_and_the_sampling_go_along() -> None:
    body = parts(OPENAI)[1]
    assert (body["seed"], body["temperature"], body["model"]) == (7, 0.5, "small")
    assert "response_format" not in body
    assert "seed" not in parts(Model(url=OPENAI.url, name="small", seeded=False))[1]


def test_answers_are_kept_to_the_actions_where_that_is_asked_for() -> None:
    model = Model(url="http://127.0.0.1:1/v1", name="small", structured=True)
    form = parts(model)[1]["response_format"]
    assert form["json_schema"]["schema"] == ACTIONS


def test_roles_take_turns() -> None:
    assert [message["role"] for message in joined(SAID)] == ["system", "user", "assistant", "user"]
    assert joined(SAID)[-1]["content"] == "2 errors\n\nA hint."


def test_anthropic_takes_the_system_prompt_apart() -> None:
    body = parts(CLAUDE)[1]
    assert body["system"] == "You repair files."
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["max_tokens"] == 1024
    assert "seed" not in body


def test_replies_of_both_are_read() -> None:
    whole = {
        "model": "small-1",
        "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    }
    said = completion(OPENAI, json.dumps(whole).encode(), "application/json")
    assert said is not None and said.message is not None
    assert (said.message.text, said.model, said.usage.input_tokens) == ("hello", "small-1", 10)
    claude = {
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": "hello"}],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    said = completion(CLAUDE, json.dumps(claude).encode(), "application/json")
    assert said is not None and said.message is not None
    assert (said.message.text, said.usage.output_tokens) == ("hello", 1)


def test_what_is_no_url_is_said() -> None:
    with pytest.raises(UsageProblem, match="is no URL"):
        request(Model(url="http://", name="x"), SAID, key="", seed=1, actions=ACTIONS)
