from pathlib import Path

import pytest

from rerail.formats.mapping import Mapped, MappingRefused
from rerail.formats.reading import read
from rerail.llm.view import Text, ToolCall, ToolCallResponse
from tests.formats.files import lines

MAPPING = """
name = "app-log"
time = "ts"
[ids]
run = "run.id"
[message]
role = "who"
text = "words"
tool = "tool.name"
call = "tool.id"
arguments = "tool.args"
result = "tool.result"
error = "tool.failed"
"""


def mapping(tmp_path: Path, text: str = MAPPING) -> Path:
    path = tmp_path / "m.toml"
    path.write_text(text)
    return path


def test_lines_of_ones_own_become_a_conversation(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "app.jsonl",
        {"ts": 1700000000, "who": "human", "words": "Go.", "run": {"id": 7}},
        {"ts": 1700000001000, "event": "started"},
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


def test_a_name_with_a_dot_in_it_is_found_whole() -> None:
    mapped = Mapped({"kind": "a.b"})
    assert mapped.field({"a.b": 1, "a": {"b": 2}}, "kind") == 1
    assert mapped.field({"a": {"b": 2}}, "kind") == 2
    assert mapped.field({"a": 3}, "kind") is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("time = ", "cannot read mapping"),
        ("tmie = 'ts'", "`tmie` is no such field"),
        ("[message]\ntext = 3", "`text` is no such field"),
        ("ids = 'x'", "`ids` is no such field"),
    ],
)
def test_a_mapping_that_is_wrong_is_refused(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(MappingRefused, match=what):
        Mapped.open(mapping(tmp_path, text))
