from pathlib import Path

import pytest

from rerail.formats.reading import read
from rerail.llm.view import Text, ToolCall, ToolCallResponse
from rerail.trace.log_source import BadMapping
from tests.formats.files import lines

MAPPING = """
kind: {field: event}
time: {field: ts, unit: s}
ids: {run: run.id}
message:
  role: who
  text: words
  tool: tool.name
  call: tool.id
  arguments: tool.args
  result: tool.result
  error: tool.failed
"""


def mapping(tmp_path: Path, text: str = MAPPING) -> Path:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    return path


def test_lines_of_ones_own_become_a_conversation(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "app.jsonl",
        {"ts": 1700000000, "who": "human", "words": "Go.", "run": {"id": 7}},
        {"ts": 1700000001, "event": "started"},
        {"tool": {"name": "find", "id": "k", "args": '{"a": 1}'}},
        {"tool": {"id": "k", "result": {"found": 2}, "failed": True}},
    )
    story = read(path, mapping=mapping(tmp_path))
    assert [said.message.role for said in story.said] == ["user", "assistant", "tool"]
    assert story.said[0].message.parts == (Text("Go."),)
    assert story.said[0].at == 1700000000 * 10**9
    assert story.said[1].message.parts == (ToolCall("k", "find", {"a": 1}),)
    assert story.said[2].message.parts == (ToolCallResponse("k", '{"found": 2}', is_error=True),)
    assert story.ids == {"run": "7"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("time: ", "cannot read the mapping"),
        ("kind: {field: a}\ntmie: b", "cannot read the mapping"),
        ("kind: {field: a}\nmessage: {text: 3}", "cannot read the mapping"),
        ("kind: {field: a}\nids: {runn: b}", "no such identifier"),
        ("kind: {field: a}", "does not say which fields are conversation"),
    ],
)
def test_a_mapping_that_is_wrong_is_refused(tmp_path: Path, text: str, what: str) -> None:
    path = lines(tmp_path / "app.jsonl", {"a": 1}, {"a": 2})
    with pytest.raises(BadMapping, match=what):
        read(path, mapping=mapping(tmp_path, text))
