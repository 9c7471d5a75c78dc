from pathlib import Path

from rerail.formats.reading import import_file, read
from rerail.llm.view import Text, ToolCall, ToolCallResponse
from tests.formats.files import lines

WHO = {"sessionId": "s1", "isSidechain": False, "cwd": "/w", "version": "2.0"}


def user(content: object, **more: object) -> dict[str, object]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": "u", "message": message, **WHO, **more}


def assistant(block: object, reason: str | None = None, **more: object) -> dict[str, object]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [block],
        "stop_reason": reason,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
    }
    record = {"type": "assistant", "uuid": "a", "timestamp": "2026-01-02T03:04:05.5Z"}
    return {**record, "message": message, **WHO, **more}


def test_the_lines_of_one_reply_are_one_message(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        user("List the files."),
        assistant({"type": "text", "text": "I shall look."}),
        assistant(
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}, "tool_use"
        ),
        user([{"type": "tool_result", "tool_use_id": "t1", "content": "a.py", "is_error": True}]),
        {"type": "summary", "summary": "files listed", "leafUuid": "a"},
    )
    story = read(path)
    assert [said.message.role for said in story.said] == ["user", "assistant", "tool"]
    asked = story.said[1]
    assert asked.message.parts == (Text("I shall look."), ToolCall("t1", "Bash", {"command": "ls"}))
    assert (asked.ref, asked.order, asked.model, asked.finish_reason) == (
        "line 2",
        2,
        "claude-x",
        "tool_use",
    )
    assert asked.at == 1767323045500000000
    assert asked.usage is not None
    assert (asked.usage.input_tokens, asked.usage.output_tokens) == (7, 5)
    assert story.said[2].message.parts == (ToolCallResponse("t1", "a.py", is_error=True),)
    assert story.ids == {"session": "s1"}
    assert not story.recorded


def test_a_stream_ends_with_its_own_word(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        {"type": "system", "subtype": "init", "session_id": "s2", "tools": ["Bash"]},
        {
            "type": "assistant",
            "session_id": "s2",
            "message": assistant({"type": "text", "text": "x"})["message"],
        },
        {"type": "result", "subtype": "error_max_turns", "is_error": True, "session_id": "s2"},
    )
    story = read(path)
    assert story.ended == "error_max_turns (error)"
    assert "no chain of records" in [gap.what for gap in story.gaps]


def test_two_sessions_are_two_stories_and_a_sub_agent_is_a_lane(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        user("one"),
        user("aside", isSidechain=True),
        user("two", sessionId="s9"),
    )
    imported = import_file(path)
    assert [story.ids["session"] for story in imported.stories] == ["s1", "s9"]
    assert [said.lane for said in imported.stories[0].said] == ["", "side"]


def test_an_error_of_the_api_is_no_message(tmp_path: Path) -> None:
    failed = assistant(
        {"type": "text", "text": "API Error: 529 overloaded"}, isApiErrorMessage=True
    )
    story = read(lines(tmp_path / "s.jsonl", user("hello"), failed))
    assert story.said[1].error == "API Error: 529 overloaded"
    assert story.said[1].message.parts == ()


def test_records_of_no_known_form_are_counted(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", user("hello"), user(["wow"]), user("more"), 42, "x")
    story = read(path)
    assert [said.ref for said in story.said] == ["line 1", "line 3"]
    assert "1 records of no known form" in [gap.what for gap in story.gaps]
