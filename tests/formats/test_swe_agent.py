from pathlib import Path
from typing import Any

from rerail.formats.reading import import_file
from rerail.llm.view import Text, ToolCall, ToolCallResponse
from tests.formats.files import document

STEPS = [
    {"action": "open main.py\n", "observation": "1: x = 1", "response": "Let me look."},
    {"action": "edit 1:1", "observation": "done", "thought": "It is wrong."},
    {"action": "", "observation": "nothing to do", "response": "Hm."},
    {"action": "submit", "observation": ""},
]
HISTORY = [
    {"role": "system", "content": "You are a programmer."},
    {"role": "user", "content": "A demonstration.", "is_demo": True},
    {"role": "user", "content": "Mend it."},
    {"role": "assistant", "content": "Let me look."},
    {"role": "user", "content": "1: x = 1"},
]


def trajectory(tmp_path: Path, **more: Any) -> Path:
    whole = {"trajectory": STEPS, "history": HISTORY, "info": {"exit_status": "submitted"}}
    return document(tmp_path / "x.traj", whole | more)


def test_an_action_is_a_call_and_its_observation_the_answer(tmp_path: Path) -> None:
    imported = import_file(trajectory(tmp_path))
    (story,) = imported.stories
    assert imported.format == "swe-agent"
    first, told = story.said[2:4]
    assert first.message.parts == (
        Text("Let me look."),
        ToolCall("step 1", "open", {"command": "open main.py\n"}),
    )
    assert told.message.parts == (ToolCallResponse("step 1", "1: x = 1"),)
    assert story.ended == "submitted"


def test_what_was_said_before_is_there_but_for_demonstrations(tmp_path: Path) -> None:
    (story,) = import_file(trajectory(tmp_path)).stories
    assert [said.message.text for said in story.said[:2]] == ["You are a programmer.", "Mend it."]


def test_a_step_without_an_action_is_words_alone(tmp_path: Path) -> None:
    (story,) = import_file(trajectory(tmp_path)).stories
    assert [len(said.message.parts) for said in story.said[2:]] == [2, 1, 2, 1, 1, 1, 1]
    assert story.said[6].message.parts == (Text("Hm."),)


def test_what_such_a_file_cannot_show_is_named(tmp_path: Path) -> None:
    (story,) = import_file(trajectory(tmp_path, info={}, history=None)).stories
    gaps = [gap.what for gap in story.gaps]
    assert "no model's name, no tokens" in gaps
    assert "a command's exit status is not kept" in gaps
    assert "no record of the end" in gaps
