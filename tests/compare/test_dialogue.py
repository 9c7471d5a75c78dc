"""A recorded dialogue answers: by method and parameters, with the ids of now."""

import json
from typing import Any

from rerail.compare.dialogue import Dialogue


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


def call(number: object, name: str, token: object = None, **arguments: Any) -> bytes:
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return line(id=number, method="tools/call", params=params)


def answer(number: object, text: str) -> bytes:
    return line(id=number, result={"text": text})


def recorded(*spoken: tuple[bool, bytes], joined: bool = False) -> Dialogue:
    """A dialogue; `joined`: all lines came in one piece."""
    return Dialogue([(by_agent, text, joined) for by_agent, text in spoken])


def said(dialogue: Dialogue, message: bytes) -> list[Any]:
    heard = dialogue.hear(message)
    assert heard.unknown == []
    return [json.loads(each) for each in heard.lines]


def test_an_answer_carries_the_id_of_now() -> None:
    dialogue = recorded((True, call(1, "add", a=1)), (False, answer(1, "one")))
    [reply] = said(dialogue, call("x-7", "add", a=1))
    assert reply == {"jsonrpc": "2.0", "id": "x-7", "result": {"text": "one"}}


def test_the_order_of_keys_and_of_requests_does_not_matter() -> None:
    dialogue = recorded(
        (True, call(1, "add", a=1, b=2)),
        (True, call(2, "add", a=3)),
        (False, answer(2, "three")),
        (False, answer(1, "one and two")),
    )
    assert said(dialogue, call(1, "add", a=3))[0]["result"] == {"text": "three"}
    assert said(dialogue, call(2, "add", b=2, a=1))[0]["result"] == {"text": "one and two"}


def test_equal_requests_are_answered_in_recorded_order_and_no_more_often() -> None:
    dialogue = recorded(
        (True, call(1, "now")),
        (False, answer(1, "first")),
        (True, call(2, "now")),
        (False, answer(2, "second")),
    )
    assert said(dialogue, call(5, "now"))[0]["result"] == {"text": "first"}
    assert said(dialogue, call(6, "now"))[0]["result"] == {"text": "second"}
    heard = dialogue.hear(call(7, "now"))
    assert heard.unknown == ["tools/call now"]


def test_numbers_count_as_they_were_written() -> None:
    dialogue = recorded((True, call(1, "add", a=1)), (False, answer(1, "one")))
    other = call(1, "add", a=1).replace(b'"a": 1', b'"a": 1.0')
    assert dialogue.hear(other).unknown == ["tools/call add"]


def test_what_is_not_there_is_refused_by_an_error() -> None:
    dialogue = recorded((True, call(1, "add", a=1)), (False, answer(1, "one")))
    heard = dialogue.hear(call(9, "remove", a=1))
    [reply] = [json.loads(each) for each in heard.lines]
    assert reply["id"] == 9
    assert reply["error"]["code"] == -32001
    assert "`tools/call remove` is not on the tape" in reply["error"]["message"]
    assert heard.unknown == ["tools/call remove"]


def test_a_line_that_is_none_is_unknown_and_a_stray_notification_is_not() -> None:
    dialogue = recorded((True, call(1, "add")), (False, answer(1, "one")))
    assert dialogue.hear(b"hello\n").unknown == ["a line that is no JSON-RPC"]
    stray = line(method="notifications/cancelled", params={"requestId": 3})
    assert said(dialogue, stray) == []


def test_progress_comes_under_the_token_of_now_before_the_answer() -> None:
    dialogue = recorded(
        (True, call(1, "work", token=1)),
        (
            False,
            line(method="notifications/progress", params={"progressToken": 1, "progress": 5}),
        ),
        (False, answer(1, "done")),
    )
    progress, reply = said(dialogue, call(4, "work", token="t-4"))
    assert progress["params"] == {"progressToken": "t-4", "progress": 5}
    assert reply["id"] == 4


def test_what_the_server_says_by_itself_comes_where_it_came() -> None:
    changed = line(method="notifications/tools/list_changed")
    ready = line(method="notifications/ready")
    dialogue = recorded(
        (False, ready),
        (True, call(1, "one")),
        (False, answer(1, "1")),
        (False, changed),
        (True, call(2, "two")),
        (False, answer(2, "2")),
    )
    assert dialogue.opening() == [ready]
    first = said(dialogue, call(1, "one"))
    assert [message.get("method") for message in first] == [
        None,
        "notifications/tools/list_changed",
    ]
    assert len(said(dialogue, call(2, "two"))) == 1


def test_what_the_server_asks_is_answered_by_the_agent() -> None:
    asked = line(id="s1", method="roots/list")
    dialogue = recorded(
        (True, call(1, "look")),
        (False, asked),
        (True, line(id="s1", result={"roots": []})),
        (False, answer(1, "seen")),
    )
    # Its time may come a little early: the recorder cannot tell what an answer waited for.
    lines = said(dialogue, call(1, "look"))
    assert json.loads(asked) in lines
    assert said(dialogue, line(id="s1", result={"roots": []})) == []


def test_lines_that_came_in_one_piece_come_in_one() -> None:
    spoken = (
        (True, call(1, "work", token=1)),
        (False, line(method="notifications/progress", params={"progressToken": 1})),
        (False, answer(1, "done")),
    )
    [piece] = recorded(*spoken, joined=True).hear(call(1, "work", token=1)).lines
    assert len(piece.splitlines()) == 2
    assert len(recorded(*spoken).hear(call(1, "work", token=1)).lines) == 2
