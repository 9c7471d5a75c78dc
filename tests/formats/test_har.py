import base64
import json
from pathlib import Path
from typing import Any

from rerail.formats.reading import import_file, read
from rerail.llm.view import Text, ToolCall
from tests.formats.files import document

FIND = {"name": "find", "parameters": {"type": "object"}}
USER = {"role": "user", "content": "Find it."}
CALL = {"id": "k", "type": "function", "function": {"name": "find", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "k", "content": "here"}
CHAT = "https://api.openai.com/v1/chat/completions"


def entry(second: int, messages: list[Any], answer: Any, **response: Any) -> dict[str, Any]:
    asked = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": FIND}]}
    choice = {"choices": [{"message": answer, "finish_reason": "stop"}], "model": "m-1"}
    content = {"mimeType": "application/json", "text": json.dumps(choice)}
    return {
        "startedDateTime": f"2026-01-02T03:04:0{second}Z",
        "time": 250.0,
        "request": {"method": "POST", "url": CHAT, "postData": {"text": json.dumps(asked)}},
        "response": {"status": 200, "statusText": "OK", "content": content} | response,
    }  # fmt: skip


def log(*entries: Any) -> dict[str, Any]:
    return {"log": {"version": "1.2", "entries": list(entries)}}


def test_model_calls_are_the_conversation(tmp_path: Path) -> None:
    page = {"request": {"method": "GET", "url": "https://example.com/"}, "response": {}}
    later = entry(2, [USER, ASKS, TOLD], {"role": "assistant", "content": "It is here."})
    story = read(document(tmp_path / "x.har", log(page, later, entry(1, [USER], ASKS))))
    assert [said.message.role for said in story.said] == ["user", "assistant", "tool", "assistant"]
    assert story.said[1].message.parts == (ToolCall("k", "find", {}),)
    assert story.said[3].message.parts == (Text("It is here."),)
    assert story.said[3].at == 1767323042 * 10**9 + 250_000_000
    assert story.tools == {"find": {"type": "object"}}
    assert "exchanges that are no model calls: 1" in [gap.what for gap in story.gaps]


def test_a_coded_body_and_an_error(tmp_path: Path) -> None:
    words = base64.b64encode(b'{"error": {"message": "slow down"}}').decode()
    coded = {"mimeType": "application/json", "encoding": "base64", "text": words}
    failed = entry(1, [USER], ASKS, status=429, statusText="Too Many", content=coded)
    silent = entry(2, [USER, USER], ASKS, status=0, content={})
    imported = import_file(document(tmp_path / "x.har", log(failed, silent)))
    errors = [said.error for said in imported.stories[0].said if said.error]
    assert errors == ["429 slow down", "no reply"]
