"""Responses over a WebSocket, as a coding agent asks for them: prewarm, tools as an item, turns."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from rerail.testing.model import SimulatedModel
from rerail.testing.model.conversation import Asked, Reply, ToolCall

TOOLS = {
    "type": "additional_tools",
    "tools": [
        {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
    ],
}
USER = {"role": "user", "content": "Count."}


def count(asked: Asked) -> Reply:
    if any(message.role == "tool" for message in asked.messages):
        return Reply(f"It said {asked.last.text}.")
    return Reply(tool_calls=(ToolCall("exec", {"input": "1 + 1"}),))


@contextmanager
def talk(model: SimulatedModel) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """`say(**body)` asks for a response and gives its events."""
    with connect(model.url.replace("http", "ws") + "/v1/responses", proxy=None) as socket:
        yield lambda **body: list(
            _events(socket, {"type": "response.create", "model": "m", **body})
        )


def _events(socket: ClientConnection, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    socket.send(json.dumps(body))
    while True:
        event = json.loads(socket.recv())
        yield event
        if event["type"] in ("response.completed", "error"):
            return


def test_turns_go_on_where_the_last_response_ended(
    start_model: Callable[..., SimulatedModel],
) -> None:
    model = start_model(count)
    with talk(model) as say:
        warm = say(input=[], generate=False)[-1]["response"]
        asked = say(input=[TOOLS, USER], previous_response_id=warm["id"])[-1]["response"]
        call = asked["output"][0]
        told = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "two"}
        said = say(input=[told], previous_response_id=asked["id"])[-1]["response"]
    assert warm["output"] == []
    assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "exec", "1 + 1")
    assert said["output"][0]["content"][0]["text"] == "It said two."
    assert len(model.asked) == 2
    assert [tool.name for tool in model.asked[1].tools] == ["exec"]


@pytest.mark.parametrize("body", [{"input": []}, {"input": "x", "previous_response_id": "none"}])
def test_what_cannot_be_understood_is_an_error_event(
    start_model: Callable[..., SimulatedModel], body: dict[str, Any]
) -> None:
    with talk(start_model()) as say:
        assert [event["type"] for event in say(**body)] == ["error"]
