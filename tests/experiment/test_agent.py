"""The agent takes whatever a model says: an action, or a word on what an action is."""

from pathlib import Path
from typing import Any

import pytest

from rerail.experiment.agent import SOURCE, SYSTEM, beginning, note
from rerail.script.durable import Script
from rerail.script.tools import Call, repeatable

START = {"history": beginning("Repair it.", ["a.txt"]), "files": {"a.txt": "wrong"}}


class Said:
    """A model that says these things in turn; a check that wants `right`."""

    def __init__(self, *replies: dict[str, Any] | str) -> None:
        self._replies = [{"content": one} if isinstance(one, str) else one for one in replies]
        self.asked: list[dict[str, Any]] = []
        self.judged: dict[str, str] = {}

    def think(self, call: Call) -> dict[str, Any]:
        self.asked.append(call.arguments)
        return self._replies.pop(0) if self._replies else {}

    def check(self, call: Call) -> dict[str, Any]:
        return {"errors": [] if call.arguments["files"]["a.txt"] == "right" else ["a.txt: no"]}

    def verdict(self, call: Call) -> dict[str, Any]:
        self.judged = call.arguments["files"]
        return {}

    def run(self, tape: Path) -> list[str]:
        """What the agent was told after each of its turns."""
        tools = {name: repeatable(getattr(self, name)) for name in ("think", "check", "verdict")}
        with Script.start(SOURCE, tape=tape, tools=tools, inputs={"start": START}) as run:
            assert run.error == ""
        history = self.asked[-1]["history"][len(START["history"]) :]
        return [one["content"] for one in history if one["role"] == "user"]


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "run.tape"


def test_the_four_actions(tape: Path) -> None:
    said = Said(
        '{"tool": "read", "path": "a.txt"}',
        '{"tool": "check"}',
        'Here: ```json\n{"tool": "write", "path": "a.txt", "content": "right"}\n```',
        '{"tool": "check"}',
        '{"tool": "done"}',
        '{"tool": "read", "path": "never.txt"}',
    )
    assert said.run(tape) == ["wrong", "a.txt: no", "wrote a.txt", "nothing is wrong"]
    assert [asked["errors"] for asked in said.asked] == [None, None, 1, 1, 0]
    assert [asked["turn"] for asked in said.asked] == [0, 1, 2, 3, 4]
    assert said.judged == {"a.txt": "right"}


def test_it_ends_where_no_turn_is_left(tape: Path) -> None:
    said = Said('{"tool": "check"}')
    said.run(tape)
    assert [asked["turn"] for asked in said.asked] == [0, 1]
    assert said.judged == {"a.txt": "wrong"}


def test_a_note_joins_the_history_before_the_answer(tape: Path) -> None:
    said = Said({"note": note("look again"), "content": '{"tool": "check"}'})
    said.run(tape)
    history = said.asked[-1]["history"]
    assert [one["content"] for one in history[2:4]] == [note("look again"), '{"tool": "check"}']


@pytest.mark.parametrize(
    "reply",
    ["", "null", "[]", "{}", '{"tool": null}', '{"tool": "run"}', "I would", '{"a":' + "[" * 999],
)
def test_what_is_no_action_is_answered_with_what_one_is(tape: Path, reply: str) -> None:
    (told,) = Said(reply).run(tape)
    assert told.startswith("answer with one JSON object")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../a.txt", "b/../../a.txt", "a\\u0000b"])
def test_a_file_has_a_place_inside_the_project(tape: Path, path: str) -> None:
    said = Said(f'{{"tool": "write", "path": "{path}", "content": "x"}}')
    (told,) = said.run(tape)
    assert told.startswith("there can be no `")
    assert said.judged == {"a.txt": "wrong"}


def test_odd_fields_are_text_to_it(tape: Path) -> None:
    said = Said('{"tool": "write", "path": ["b"], "content": 7}', '{"tool": "read"}')
    told = said.run(tape)
    assert said.judged["['b']"] == "7"
    assert told[1] == "there is no "


def test_the_actions_are_told_in_the_system_prompt() -> None:
    for name in ("read", "write", "check", "done"):
        assert f'"tool": "{name}"' in SYSTEM
    system, user = beginning("Repair it.", ["a", "b"], "look again")
    assert system["content"] == SYSTEM
    assert user["content"] == "Repair it.\n\nFiles: a, b\n\nHint: look again"
