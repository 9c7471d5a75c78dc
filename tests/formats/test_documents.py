"""Formats that are one document: SWE-agent, chats, Inspect."""

import json
import zipfile
from pathlib import Path

import pytest

from rerail.formats.file import ImportRefused
from rerail.formats.reading import import_file, read
from rerail.llm.view import Text, ToolCall, ToolCallResponse
from tests.formats.files import document, lines


def test_a_trajectory_is_commands_and_what_they_answered(tmp_path: Path) -> None:
    step = {
        "action": "ls src\n",
        "observation": "a.py",
        "thought": "Look.",
        "response": "",
        "state": "{}",
    }
    history = [
        {"role": "system", "content": "You fix code."},
        {"role": "user", "content": "a demonstration", "is_demo": True},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "Look."},
    ]
    path = document(
        tmp_path / "t.traj",
        {"trajectory": [step], "history": history, "info": {"exit_status": "exit_cost"}},
    )
    story = read(path)
    assert [said.message.role for said in story.said] == ["system", "user", "assistant", "tool"]
    call = ToolCall("step 1", "ls", {"command": "ls src\n"})
    assert story.said[2].message.parts == (Text("Look."), call)
    assert story.said[3].message.parts == (ToolCallResponse("step 1", "a.py"),)
    assert story.ended == "exit_cost"


RUN = {
    "task_id": 7,
    "reward": 0.0,
    "info": {"task": {"actions": [{"name": "secret_answer", "kwargs": {}}]}},
    "traj": [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "k", "type": "function", "function": {"name": "get", "arguments": "{}"}}
        ]},
        {"role": "tool", "tool_call_id": "k", "content": "42"},
    ],
}  # fmt: skip


def test_runs_of_a_benchmark_are_stories_without_their_labels(tmp_path: Path) -> None:
    imported = import_file(document(tmp_path / "r.json", [RUN, {**RUN, "task_id": 8}]))
    assert [story.ids["task"] for story in imported.stories] == ["7", "8"]
    assert imported.stories[1].source == "r.json run 2"
    assert "secret_answer" not in repr(imported)
    assert "0.0" not in repr(imported)


def test_one_of_many_runs_must_be_named(tmp_path: Path) -> None:
    path = document(tmp_path / "r.json", [RUN, RUN])
    with pytest.raises(ImportRefused, match="it holds 2 runs"):
        read(path)
    assert read(path, run=2, name="A").source == "A"
    with pytest.raises(ImportRefused, match="no run 3"):
        read(path, run=3)


def test_messages_a_line_each_are_one_run(tmp_path: Path) -> None:
    story = read(lines(tmp_path / "m.jsonl", *RUN["traj"]))  # type: ignore[arg-type]
    assert [said.ref for said in story.said] == ["line 1", "line 2", "line 3"]


def test_tools_beside_the_messages_are_their_schemas(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {}}
    tools = [{"type": "function", "function": {"name": "get", "parameters": schema}}]
    story = read(document(tmp_path / "m.json", {"messages": RUN["traj"], "tools": tools}))
    assert story.tools == {"get": schema}


def an_eval(path: Path, *samples: object) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        for number, sample in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return path


def test_an_inspect_log_is_a_story_for_each_sample(tmp_path: Path) -> None:
    call = {"id": "k", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": "I go.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "k", "content": "", "error": {"message": "no bash"}},
    ]
    sample = {
        "id": "a",
        "messages": messages,
        "scores": {"x": {"value": "I"}},
        "limit": {"type": "token"},
    }
    (story,) = import_file(an_eval(tmp_path / "l.eval", sample)).stories
    assert story.said[1].message.parts == (Text("I go."), ToolCall("k", "bash", {"cmd": "ls"}))
    assert story.said[2].message.parts == (ToolCallResponse("k", "no bash", is_error=True),)
    assert story.ended == "limit: token"


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="0 samples"):
        import_file(an_eval(tmp_path / "l.eval"))
    broken = tmp_path / "b.eval"
    broken.write_bytes(b"PK\x03\x04" + b"\0" * 50)
    with pytest.raises(ImportRefused):
        import_file(broken)


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    path = an_eval(tmp_path / "l.eval", {"messages": []})
    content = bytearray(path.read_bytes())
    for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.rindex(head) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(ImportRefused, match=r"samples/0_epoch_1\.json is encrypted"):
        import_file(path)


def test_a_run_in_which_nobody_spoke_is_one_of_many(tmp_path: Path) -> None:
    said = {"traj": [{"role": "user", "content": "Hello."}]}
    imported = import_file(document(tmp_path / "r.json", [{"traj": []}, said]))
    assert [len(story.said) for story in imported.stories] == [0, 1]
    with pytest.raises(ImportRefused):
        import_file(document(tmp_path / "none.json", [{"traj": []}]))
