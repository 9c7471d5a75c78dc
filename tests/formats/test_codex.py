import json
from pathlib import Path

import zstandard

from rerail.formats.reading import import_file, read
from rerail.llm.view import ToolCall, ToolCallResponse, Usage
from tests.formats.files import lines

RECORDS = (
    {"type": "session_meta", "payload": {"id": "c1", "cwd": "/w", "instructions": "Be brief."}},
    {"type": "turn_context", "payload": {"model": "gpt-5-codex"}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "ls"}],
        },
    },
    {
        "type": "response_item",
        "timestamp": "2026-01-02T03:04:05Z",
        "payload": {
            "type": "function_call",
            "name": "shell",
            "call_id": "k",
            "arguments": '{"cmd": "ls"}',
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "function_call_output",
            "call_id": "k",
            "output": json.dumps({"output": "no such folder", "metadata": {"exit_code": 2}}),
        },
    },
    {"type": "event_msg", "payload": {"type": "token_count", "info": {}}},
    {"type": "event_msg", "payload": {"type": "error", "message": "usage limit reached"}},
    {"type": "event_msg", "payload": {"type": "turn_aborted"}},
)


def test_a_rollout_is_a_conversation(tmp_path: Path) -> None:
    story = read(lines(tmp_path / "r.jsonl", *RECORDS))
    roles = [said.message.role for said in story.said]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert story.said[2].message.parts == (ToolCall("k", "shell", {"cmd": "ls"}),)
    assert story.said[2].model == "gpt-5-codex"
    assert story.said[3].message.parts == (ToolCallResponse("k", "no such folder", is_error=True),)
    assert story.said[4].error == "usage limit reached"
    assert (story.ended, story.ids) == ("turn_aborted", {"session": "c1", "folder": "/w"})


def test_what_newer_and_older_builds_write(tmp_path: Path) -> None:
    meta = {"type": "session_meta", "payload": {"id": "c2", "base_instructions": {"text": "Hm."}}}
    told = {"type": "function_call_output", "call_id": "k"}
    output = {"content": "no such file", "success": False}
    answered = {"type": "response_item", "payload": {**told, "output": output}}
    story = read(lines(tmp_path / "r.jsonl", meta, *RECORDS[2:4], answered))
    assert story.said[0].message.text == "Hm."
    assert story.said[-1].message.parts == (ToolCallResponse("k", "no such file", is_error=True),)


def test_a_packed_rollout_is_read_too(tmp_path: Path) -> None:
    plain = lines(tmp_path / "r.jsonl", *RECORDS)
    packed = tmp_path / "r.jsonl.zst"
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    imported = import_file(packed)
    assert imported.format == "codex"
    assert len(imported.stories[0].said) == 5


def test_a_conversation_that_was_shortened_says_so(tmp_path: Path) -> None:
    shortened = {"type": "compacted", "payload": {"message": "So far: two files were read."}}
    story = read(lines(tmp_path / "r.jsonl", *RECORDS[:4], shortened, *RECORDS[4:]))
    assert [said.message.text for said in story.said if said.ref == "line 5"] == [
        "So far: two files were read."
    ]
    assert "the conversation was shortened on its way" in [gap.what for gap in story.gaps]


def test_the_parts_of_a_reply_are_one_message_with_its_tokens(tmp_path: Path) -> None:
    words = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hm."}]}
    tokens = {"last_token_usage": {"input_tokens": 7, "output_tokens": 2}}
    counted = {"type": "event_msg", "payload": {"type": "token_count", "info": tokens}}
    spoken = {"type": "response_item", "payload": words}
    story = read(lines(tmp_path / "r.jsonl", *RECORDS[:2], spoken, RECORDS[3], counted))
    assert [len(said.message.parts) for said in story.said] == [1, 2]
    assert story.said[1].usage == Usage(7, 2)


def test_a_command_that_failed_marks_the_answer_behind_it(tmp_path: Path) -> None:
    item = {"type": "CommandExecution", "status": "failed", "exit_code": 2}
    ran = {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}
    told = {"type": "function_call_output", "call_id": "k", "output": "no such folder"}
    answered = {"type": "response_item", "payload": told}
    later = {"type": "response_item", "payload": {**told, "call_id": "l"}}
    story = read(lines(tmp_path / "r.jsonl", *RECORDS[:4], ran, answered, later))
    assert [said.message.parts[0] for said in story.said[-2:]] == [
        ToolCallResponse("k", "no such folder", is_error=True),
        ToolCallResponse("l", "no such folder"),
    ]
