import json
from pathlib import Path

from rerail.errors import RerailError
from rerail.llm.view import Text, ToolCall, ToolCallResponse
from rerail.tape import records
from rerail.tape.reader import Tape
from rerail.testing.tapes import CHAT, Recording
from rerail.trace.story import Story
from rerail.trace.telling import story_of

JSON = "Content-Type: application/json\r\n"
FIND = {"name": "find", "arguments": '{"what": "it"}'}
CALL = {"id": "k", "type": "function", "function": FIND}
SCHEMA = {"type": "object", "properties": {"what": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": SCHEMA}}]
USER = {"role": "user", "content": "Find it."}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "k", "content": "here"}


def ask(recording: Recording, exchange: int, *messages: object) -> None:
    body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS}).encode()
    recording.request(
        exchange, body, method="POST", target=CHAT, headers=JSON, host="api.openai.com"
    )


def answer(recording: Recording, exchange: int, message: object, reason: str = "stop") -> None:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    body = json.dumps({"model": "m-1", "choices": [choice]}).encode()
    recording.reply(exchange, [body], headers=JSON)


def told(path: Path) -> Story:
    with Tape.open(path) as tape:
        return story_of(tape, "A")


def test_each_message_is_told_once_with_its_step(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "x.tape")
    ask(recording, 1, USER)
    answer(recording, 1, ASKS, "tool_calls")
    recording.request(2, host="tools.example.com")
    recording.reply(2, [b"here"])
    ask(recording, 3, USER, ASKS, TOLD)
    answer(recording, 3, {"role": "assistant", "content": "It is here."})
    recording.end()
    story = told(recording.path)
    assert [said.message.role for said in story.said] == ["user", "assistant", "tool", "assistant"]
    assert [said.ref for said in story.said] == ["s1", "s1", "s2", "s2"]
    assert story.said[1].message.parts == (ToolCall("k", "find", {"what": "it"}),)
    assert story.said[2].message.parts == (ToolCallResponse("k", "here"),)
    assert story.said[3].message.parts == (Text("It is here."),)
    assert (story.said[3].finish_reason, story.said[3].model) == ("stop", "m-1")
    orders = [said.order for said in story.said]
    assert orders == sorted(orders)
    assert story.tools == {"find": SCHEMA}
    assert (story.ended, story.recorded) == ("status 0", True)
    assert story.ids == {"run": "run-1", "task": "task-1"}


def test_a_call_without_an_answer_says_why(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "x.tape")
    ask(recording, 1, USER)
    recording.reply(
        1, [b'{"error": {"message": "slow down"}}'], status="429 Too Many", headers=JSON
    )
    ask(recording, 2, USER, {"role": "user", "content": "Well?"})
    recording.event(records.HttpFailed, exchange_id=2, ended="reset", reason="gone")
    ask(recording, 3, USER, {"role": "user", "content": "Hello?"})
    story = told(recording.leave(tmp_path / "left.tape"))
    errors = [said.error for said in story.said if said.message.role == "assistant"]
    assert errors == ["429 slow down", "no reply: gone", "no reply"]
    assert story.ended == ""


def test_what_was_not_captured_is_a_gap(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "x.tape")
    recording.event(records.CaptureMissing, what="connection", detail="10.0.0.1:5432")
    recording.end(signal=9, status=137)
    story = told(recording.path)
    assert [gap.what for gap in story.gaps] == ["connection: 10.0.0.1:5432"]
    assert story.ended == "signal 9"
    assert story.said == ()


def test_a_body_that_cannot_be_read_is_told_of(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "x.tape")
    recording.request(1, b"\xff{", method="POST", target=CHAT, headers=JSON, host="api.openai.com")
    answer(recording, 1, {"role": "assistant", "content": "Hm."})
    recording.end()
    damage: list[RerailError] = []
    with Tape.open(recording.path) as tape:
        story = story_of(tape, "A", damaged=damage.append)
    assert [said.message.text for said in story.said] == ["Hm."]
    assert damage == []
