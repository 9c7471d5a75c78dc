"""What a rewind decides, request by request."""

import json
from dataclasses import replace
from typing import Any

import pytest

from rerail.compare.canon import Request
from rerail.errors import UsageProblem
from rerail.llm.calls import ModelCall
from rerail.playback.onward import CannotGoOn
from rerail.rewind.edits import Edits
from rerail.rewind.onward import Allowed, Onward
from rerail.tape.records import Edit
from rerail.wire.http1 import parse_head

CALL = ModelCall("openai.chat_completions", "openai", "chat", "openai")
HINT = "Look again."


def request(method: str = "POST", url: str = "api.openai.com/v1/chat/completions") -> Request:
    host, _, path = url.partition("/")
    head = parse_head(f"{method} /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return Request.read(head, scheme="https", host=host, port=443, body=b"")


def asked(*texts: str, model: str = "m", **more: Any) -> bytes:
    messages = [{"role": "user", "content": text} for text in texts]
    return json.dumps({"model": model, "messages": messages, **more}).encode()


def hinting() -> Onward:
    return Onward(1, Edits.of([Edit(step=1, kind="hint", text=HINT)]))


def sent(onward: Onward, body: bytes) -> list[str]:
    head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    edited = onward.edit(CALL, head + body)
    changed = edited.body if edited is not None else body
    return [message["content"] for message in json.loads(changed)["messages"]]


def test_it_leaves_the_tape_at_its_step_and_then_for_good() -> None:
    onward = Onward(3)
    assert [onward.leaves(step) for step in (2, 3, 4)] == [False, True, True]
    assert not onward.begun
    onward.take_turn(1, CALL, request())
    assert onward.begun
    assert onward.leaves(2)


def test_attempts_at_a_turn_are_one() -> None:
    onward = Onward(1, turns=2)
    for turn in (1, 1, 2, 2, 1):
        onward.take_turn(turn, CALL, request())
    with pytest.raises(CannotGoOn, match="the 2 turns are used up") as refused:
        onward.take_turn(3, CALL, request())
    assert refused.value.code == "turns_used_up"


@pytest.mark.parametrize(
    ("api", "why"),
    [
        ("openai.responses", "this WebSocket is not on the tape"),
        ("gemini.live", "a session of gemini.live cannot go on live"),
    ],
)
def test_a_websocket_that_cannot_go_on_says_why(api: str, why: str) -> None:
    with pytest.raises(CannotGoOn, match=why):
        Onward(1).take_turn(1, replace(CALL, api=api), request("GET"))


def test_the_hint_keeps_its_place_in_its_conversation() -> None:
    onward = hinting()
    assert sent(onward, asked("a", "b")) == ["a", "b", HINT]
    assert sent(onward, asked("a", "b", "c")) == ["a", "b", HINT, "c"]
    assert sent(onward, asked("title?", model="small")) == ["title?"]
    assert sent(onward, asked("a", "b", "c", "d")) == ["a", "b", HINT, "c", "d"]


def test_where_the_history_was_cut_the_hint_stands_first_and_goes_on_from_there() -> None:
    onward = hinting()
    sent(onward, asked("a", "b", "c"))
    assert sent(onward, asked("in short")) == [HINT, "in short"]
    assert sent(onward, asked("in short", "d")) == [HINT, "in short", "d"]
    assert onward.edits.hint_place is not None
    assert onward.edits.hint_place.moved


def test_a_history_that_is_kept_nowhere_is_put_in_before_the_hint() -> None:
    call = replace(CALL, api="openai.responses")
    told = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
    body = json.dumps({"model": "m", "input": [told], "previous_response_id": "r1"}).encode()
    raw = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    task, asks = {"role": "user", "content": "Go."}, {"type": "function_call", "call_id": "c1"}
    reply = {"object": "response", "id": "r1", "output": [asks]}
    said = [("agent", json.dumps({"input": [task]})), ("origin", json.dumps(reply))]
    onward = hinting()
    onward.taken.add(1)
    edited = onward.edit(call, raw)
    assert edited is not None
    assert [item.get("role") for item in json.loads(edited.body)["input"]] == [None, "user"]
    late = hinting()
    late.taken.add(1)
    late.expired = True
    late.history = lambda: [(side, text.encode()) for side, text in said]  # type: ignore[misc]
    edited = late.edit(call, raw)
    assert edited is not None
    assert json.loads(edited.body)["input"][:3] == [task, asks, told]
    assert edited.why == "its history was put in, a hint was put in"
    late.history = tuple
    with pytest.raises(CannotGoOn, match="`r1` that it continues is not on the tape"):
        late.edit(call, raw)


def test_without_a_hint_nothing_is_changed() -> None:
    assert Onward(1).edit(CALL, b"anything") is None


@pytest.mark.parametrize("body", [b"no json", b"[]", b"{}"])
def test_a_request_without_a_place_for_the_hint_may_not_go_on(body: bytes) -> None:
    raw = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    with pytest.raises(CannotGoOn, match=r"no place|cannot be read"):
        hinting().edit(CALL, raw)


@pytest.mark.parametrize(
    ("text", "method", "url", "covered"),
    [
        ("POST a.example/items", "POST", "a.example/items", True),
        ("POST a.example/items", "POST", "a.example/items/7", True),
        ("POST a.example/items/", "POST", "a.example/items/7", True),
        ("POST a.example/items", "POST", "a.example/items-2", False),
        ("POST a.example/items", "GET", "a.example/items", False),
        ("* A.example", "DELETE", "a.example/anything", True),
        ("* a.example", "DELETE", "b.a.example/anything", False),
    ],
)
def test_what_is_allowed(text: str, method: str, url: str, covered: bool) -> None:
    assert Allowed.parse(text).covers(request(method, url)) is covered


def test_allowing_begins_where_the_run_goes_live() -> None:
    onward = Onward(1, allowed=(Allowed.parse("* a.example"),))
    assert not onward.allows(request("GET", "a.example/"))
    onward.take_turn(1, CALL, request())
    assert onward.allows(request("GET", "a.example/"))


@pytest.mark.parametrize("text", ["", "POST", "a.example", "post a.example", "POST a b c"])
def test_what_names_no_requests(text: str) -> None:
    with pytest.raises(UsageProblem, match="names no requests"):
        Allowed.parse(text)
