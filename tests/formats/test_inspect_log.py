import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rerail.formats.file import ImportRefused
from rerail.formats.reading import import_file
from rerail.llm.view import Text, ToolCall, ToolCallResponse, Usage
from tests.formats.files import document

MESSAGES: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "content": "attachment://abc"},
    {
        "id": "m2",
        "role": "assistant",
        "content": [{"type": "text", "text": "Yes."}],
        "tool_calls": [{"id": "k", "function": "ls", "arguments": {"path": "."}}],
        "model": "m",
    },
    {
        "id": "m3",
        "role": "tool",
        "tool_call_id": "k",
        "content": "",
        "error": {"type": "timeout", "message": "too slow"},
    },
]
EVENTS = [
    {
        "event": "model",
        "completed": "2026-01-02T03:04:05+00:00",
        "tools": [{"name": "ls", "parameters": {"type": "object"}}],
        "output": {
            "choices": [{"message": {"id": "m2"}, "stop_reason": "tool_calls"}],
            "usage": {"input_tokens": 7, "output_tokens": 3},
        },
    },
    {"event": "tool", "id": "k", "timestamp": "2026-01-02T03:04:06+00:00"},
]
SAMPLE = {
    "id": "first",
    "epoch": 1,
    "uuid": "u1",
    "messages": MESSAGES,
    "events": EVENTS,
    "attachments": {"abc": "What is there?"},
    "scores": {"judge": {"value": "I"}},
}


def archive(path: Path, **members: Any) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("header.json", "{}")
        for name, value in members.items():
            made.writestr(f"samples/{name}.json", json.dumps(value))
    return path


def test_a_sample_is_its_messages_with_what_the_events_know(tmp_path: Path) -> None:
    (story,) = import_file(archive(tmp_path / "x.eval", first_epoch_1=SAMPLE)).stories
    assert [said.message.parts for said in story.said] == [
        (Text("What is there?"),),
        (Text("Yes."), ToolCall("k", "ls", {"path": "."})),
        (ToolCallResponse("k", "too slow", is_error=True),),
    ]
    asked, answer, told = story.said
    assert (answer.usage, answer.finish_reason) == (Usage(7, 3), "tool_calls")
    assert (asked.at, answer.at, told.at) == (None, 1767323045 * 10**9, 1767323046 * 10**9)
    assert story.tools == {"ls": {"type": "object"}}
    assert (story.ended, story.ids) == ("completed", {"sample": "first", "run": "u1"})


def test_what_a_scorer_said_is_not_read(tmp_path: Path) -> None:
    imported = import_file(archive(tmp_path / "x.eval", first_epoch_1=SAMPLE))
    assert "judge" not in repr(imported)


def test_a_document_with_all_samples_is_the_same(tmp_path: Path) -> None:
    samples = [SAMPLE, {**SAMPLE, "epoch": 2, "limit": {"type": "message"}}]
    path = document(tmp_path / "x.json", {"eval": {"task": "t"}, "samples": samples})
    imported = import_file(path)
    assert imported.format == "inspect"
    assert [story.source for story in imported.stories] == [
        "x.json first_epoch_1",
        "x.json first_epoch_2",
    ]
    assert [story.ended for story in imported.stories] == ["completed", "limit: message"]


@pytest.mark.parametrize(
    ("ending", "ended"),
    [
        ({"error": {"message": "no sandbox"}}, "error: no sandbox"),
        ({"limit": {"type": "token"}, "error": {"message": "x"}}, "limit: token"),
    ],
)
def test_how_a_sample_ended(tmp_path: Path, ending: dict[str, Any], ended: str) -> None:
    (story,) = import_file(archive(tmp_path / "x.eval", a=SAMPLE | ending)).stories
    assert story.ended == ended


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="0 samples"):
        import_file(archive(tmp_path / "x.zip"))
    with pytest.raises(ImportRefused, match="is no sample"):
        import_file(archive(tmp_path / "x.eval", a=[1]))
