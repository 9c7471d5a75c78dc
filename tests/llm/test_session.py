"""A message that continues a response is made whole from the messages before it."""

import json
from typing import Any

import pytest

from rerail.llm.session import HistoryMissing, Said, as_said, is_stored, whole_request

TASK = {"type": "message", "role": "user", "content": "Go."}
CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
TOLD = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
DONE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "!"}]}


def asks(given: Any, continues: str = "", **more: Any) -> bytes:
    document = {"type": "response.create", "model": "m", "input": given, **more}
    return json.dumps(
        document | ({"previous_response_id": continues} if continues else {})
    ).encode()


def answers(name: str, *items: Any, told: bool = True) -> list[Said]:
    events: list[Any] = [{"type": "response.created", "response": {"id": name, "output": []}}]
    if told:
        events += [{"type": "response.output_item.done", "item": item} for item in items]
    response = {"id": name, "output": [] if told else list(items)}
    events.append({"type": "response.completed", "response": response})
    return [("origin", json.dumps(event).encode()) for event in events]


SESSION: list[Said] = [
    ("agent", asks([], generate=False)),
    *answers("r0"),
    ("agent", asks([TASK], "r0")),
    *answers("r1", CALL),
]


@pytest.mark.parametrize("told", [True, False])
def test_all_that_was_asked_and_said_stands_before_what_is_new(told: bool) -> None:
    before = [*SESSION[:-3], *answers("r1", CALL, told=told)]
    whole = json.loads(whole_request(asks([TOLD], "r1", temperature=1), before))
    assert whole == {
        "type": "response.create", "model": "m", "input": [TASK, CALL, TOLD], "temperature": 1
    }  # fmt: skip


def test_a_response_that_was_continued_twice_has_two_histories() -> None:
    before = [*SESSION, ("agent", asks([TOLD], "r1")), *answers("r2", DONE)]
    assert json.loads(whole_request(asks("More.", "r2"), before))["input"] == [
        TASK, CALL, TOLD, DONE, {"type": "message", "role": "user", "content": "More."}
    ]  # fmt: skip
    assert json.loads(whole_request(asks([TASK], "r0"), before))["input"] == [TASK]


def test_a_message_that_continues_nothing_is_as_it_was() -> None:
    message = asks([TASK])
    assert whole_request(message, SESSION) is message
    assert whole_request(b"no json", []) == b"no json"


def test_what_is_nowhere_cannot_be_continued() -> None:
    with pytest.raises(HistoryMissing, match="`r9`"):
        whole_request(asks([TASK], "r9"), SESSION)
    loop: list[Said] = [("agent", asks([TASK], "r1")), *answers("r1", DONE)]
    with pytest.raises(HistoryMissing):
        whole_request(asks([TASK], "r1"), loop)


def test_thoughts_come_back_only_encrypted() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": []}
    sealed = {**bare, "id": "rs_2", "encrypted_content": "gAAA"}
    before = [("agent", asks([TASK])), *answers("r1", bare, sealed, DONE)]
    whole = json.loads(whole_request(asks([TASK], "r1"), before))  # type: ignore[arg-type]
    assert whole["input"] == [TASK, sealed, DONE, TASK]


@pytest.mark.parametrize("streamed", [True, False])
def test_over_http_it_is_put_together_from_bodies(streamed: bool) -> None:
    reply = {"object": "response", "id": "r1", "output": [CALL]}
    kind, body = "application/json", json.dumps(reply).encode()
    if streamed:
        kind = "text/event-stream; charset=utf-8"
        body = b"".join(b"event: x\ndata: %b\n\n" % said for _, said in answers("r1", CALL))
    asked = json.dumps({"model": "m", "input": [TASK]}).encode()
    before: list[Said] = [("agent", asked), *as_said(body, kind)]
    assert json.loads(whole_request(asks([TOLD], "r1"), before))["input"] == [TASK, CALL, TOLD]


def test_what_a_provider_was_told_not_to_keep() -> None:
    assert is_stored(asks([TASK]))
    assert is_stored(b"no json")
    assert not is_stored(asks([TASK], store=False))


def test_messages_that_are_no_objects_are_passed_over() -> None:
    odd: list[Said] = [("origin", b"[]"), ("origin", b"\xff"), ("agent", b'{"type": 1}')]
    assert json.loads(whole_request(asks([TOLD], "r1"), [*odd, *SESSION, *odd]))["input"][0] == TASK


def test_a_kind_that_is_no_word_is_no_end() -> None:
    odd: Said = ("origin", b'{"type": ["response.completed"], "response": {"id": "r9"}}')
    with pytest.raises(HistoryMissing):
        whole_request(asks([TASK], "r9"), [odd])
