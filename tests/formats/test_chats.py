import json
from pathlib import Path

from rerail.formats.reading import import_file, read
from rerail.llm.view import Text, ToolCall, ToolCallResponse
from tests.formats.files import document, lines

CALL = {"id": "k", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is there?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "finish_reason": "tool_calls"},
    {"role": "tool", "tool_call_id": "k", "content": "a\nb"},
    {"role": "assistant", "content": "Two files.", "timestamp": 1796000000, "model": "m"},
]


def test_a_list_of_messages_is_one_run(tmp_path: Path) -> None:
    story = read(document(tmp_path / "x.json", TALK))
    assert [said.message.role for said in story.said] == [message["role"] for message in TALK]
    assert story.said[2].message.parts == (ToolCall("k", "ls", {"path": "."}),)
    assert story.said[2].finish_reason == "tool_calls"
    assert story.said[3].message.parts == (ToolCallResponse("k", "a\nb"),)
    assert (story.said[4].model, story.said[4].at) == ("m", 1796000000 * 10**9)
    assert story.said[4].ref == "message 5"


def test_messages_a_line_keep_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in [*TALK[:2], *TALK[4:]]) + '\n\n{"a": 1}\n')
    story = read(path)
    assert [said.ref for said in story.said] == ["line 1", "line 2", "line 3"]


def test_a_document_on_one_line_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"messages": TALK, "info": {"exit_status": "Submitted"}}))
    story = read(path)
    assert (len(story.said), story.ended) == (5, "Submitted")


def test_many_runs_have_their_ids_and_labels_are_not_read(tmp_path: Path) -> None:
    runs = [{"traj": TALK, "task_id": 7, "trial": number, "reward": 1.0} for number in range(2)]
    stories = import_file(document(tmp_path / "x.json", runs)).stories
    assert [dict(story.ids) for story in stories] == [
        {"task": "7", "trial": "0"},
        {"task": "7", "trial": "1"},
    ]
    assert [story.source for story in stories] == ["x.json run 1", "x.json run 2"]
    assert "reward" not in repr(stories)


def test_runs_a_line(tmp_path: Path) -> None:
    stories = import_file(lines(tmp_path / "x.jsonl", {"messages": TALK}, {"messages": TALK[:2]}))
    assert [len(story.said) for story in stories.stories] == [5, 2]


def test_the_tools_on_offer_are_known(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    offered = [{"type": "function", "function": {"name": "ls", "parameters": schema}}]
    story = read(document(tmp_path / "x.json", {"messages": TALK, "tools": offered}))
    assert story.tools == {"ls": schema}
    assert "no schemas of the tools" not in [gap.what for gap in story.gaps]


def test_an_error_beside_an_answer_is_told(tmp_path: Path) -> None:
    broken = {"role": "assistant", "content": "", "error": {"message": "overloaded"}}
    story = read(document(tmp_path / "x.json", [TALK[1], broken]))
    assert story.said[1].error == "overloaded"
    assert story.said[0].message.parts == (Text("What is there?"),)


def test_a_line_between_runs_that_is_none_is_counted(tmp_path: Path) -> None:
    path = lines(tmp_path / "x.jsonl", {"messages": TALK}, {"a": 1}, {"messages": TALK})
    stories = import_file(path).stories
    assert len(stories) == 2
    assert "lines that are no messages: 1" in [gap.what for gap in stories[0].gaps]
