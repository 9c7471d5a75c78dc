import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import zstandard

from rerail.testing.model import SimulatedModel, improvise
from rerail.testing.model.conversation import Asked, Reply

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
KEY = {"Authorization": "Bearer k"}


@pytest.fixture
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as server:
        yield server


def post(
    model: SimulatedModel, path: str, body: Any, headers: dict[str, str] = KEY
) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(model.url + path, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())


def test_without_a_seed_two_replies_to_one_request_differ(model: SimulatedModel) -> None:
    replies = [post(model, "/v1/chat/completions", CHAT)[1] for _ in range(8)]
    assert len({reply["id"] for reply in replies}) == 8
    assert len({reply["choices"][0]["message"]["content"] for reply in replies}) > 1


def test_with_a_seed_two_servers_say_the_same_ids_included() -> None:
    def said(seed: int) -> list[Any]:
        with SimulatedModel(seed=seed) as model:
            replies = [post(model, "/v1/chat/completions", CHAT)[1] for _ in range(3)]
        return [{**reply, "created": 0} for reply in replies]

    first = said(7)
    assert first == said(7)
    assert first != said(8)
    assert first[0] != first[1]


def test_a_seeded_reply_does_not_depend_on_the_order_of_requests() -> None:
    other = {**CHAT, "messages": [{"role": "user", "content": "other"}]}

    def said(*bodies: Any) -> dict[str, Any]:
        with SimulatedModel(seed=1) as model:
            replies = [post(model, "/v1/chat/completions", body)[1] for body in bodies]
        return {json.dumps(body): reply["id"] for body, reply in zip(bodies, replies, strict=True)}

    assert said(CHAT, other) == said(other, CHAT)


@pytest.mark.parametrize(
    ("path", "body", "culprit"),
    [
        ("/v1/chat/completions", b"{", "parse"),
        ("/v1/chat/completions", [], "not a JSON object"),
        ("/v1/chat/completions", {"model": "m"}, "messages"),
        ("/v1/chat/completions", {"model": "m", "messages": "hello"}, "messages"),
        ("/v1/chat/completions", {"model": "m", "messages": [1]}, "messages"),
        ("/v1/chat/completions", {**CHAT, "model": ""}, "model"),
        ("/v1/chat/completions", {**CHAT, "n": 2}, "one choice"),
        ("/v1/chat/completions", {**CHAT, "tools": {"a": 1}}, "tools"),
        ("/v1/chat/completions", {**CHAT, "messages": [{"role": "owl"}]}, "owl"),
        ("/v1/responses", {"model": "m"}, "input"),
        ("/v1/responses", {"input": "x"}, "model"),
        ("/v1/responses", {"model": "m", "input": [{"type": "telepathy"}]}, "telepathy"),
        ("/v1/messages", {**CHAT}, "max_tokens"),
        ("/v1/messages", {"model": "m", "max_tokens": 1}, "message"),
        ("/v1/messages", {"model": "m", "max_tokens": 1, "messages": [{"role": 1}]}, "role"),
    ],
)
def test_a_bad_request_is_refused_by_name(
    model: SimulatedModel, path: str, body: Any, culprit: str
) -> None:
    status, told = post(model, path, body)
    assert status == 400
    assert culprit in told["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_a_request_without_a_key_is_refused(model: SimulatedModel, path: str) -> None:
    status, told = post(model, path, CHAT, {})
    assert status == 401
    assert told["error"]["type"] in ("invalid_request_error", "authentication_error")


@pytest.mark.parametrize(
    ("coding", "encode"), [("gzip", gzip.compress), ("zstd", zstandard.compress)]
)
def test_a_compressed_request_is_understood(
    model: SimulatedModel, coding: str, encode: Any
) -> None:
    headers = {**KEY, "Content-Encoding": coding}
    status, _ = post(model, "/v1/chat/completions", encode(json.dumps(CHAT).encode()), headers)
    assert status == 200
    assert post(model, "/v1/chat/completions", b"garbage", headers)[0] == 400


def test_a_policy_may_be_an_object() -> None:
    class Stubborn:
        def reply(self, asked: Asked) -> Reply:
            return Reply(f"No, {asked.last.text}.")

    with SimulatedModel(Stubborn()) as model:
        _, told = post(model, "/v1/chat/completions", CHAT)
    assert told["choices"][0]["message"]["content"] == "No, hello."


def test_a_long_running_server_forgets() -> None:
    with SimulatedModel(improvise, keep=0) as model:
        post(model, "/v1/chat/completions", CHAT)
        assert model.asked == []
        assert model.origin.requests == []


def test_an_unknown_path_is_a_404(model: SimulatedModel) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404") as missing:
        urllib.request.urlopen(model.url + "/v2/telepathy", timeout=5)
    missing.value.close()
