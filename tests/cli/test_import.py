"""`rerail import`, and `rerail why` on what it reads."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALL = {
    "id": "k",
    "type": "function",
    "function": {"name": "get_order", "arguments": '{"id": "W5512"}'},
}
MESSAGES = [
    {"role": "user", "content": "Where is W5512?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "k", "content": '{"id": "W5512", "tracking_id": "TR80017"}'},
    {
        "role": "assistant",
        "content": "The number of the teapot you bought is TR80017.\x1b[2J",
    },
]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"messages": MESSAGES, "info": {"exit_status": "done"}}))
    return path


@pytest.fixture
def several(tmp_path: Path) -> Path:
    path = tmp_path / "runs.json"
    path.write_text(
        json.dumps([{"task_id": 7, "traj": MESSAGES}, {"task_id": 8, "traj": MESSAGES[:1]}])
    )
    return path


def test_what_a_file_holds_and_cannot_show(transcript: Path, rerail: Callable[..., Any]) -> None:
    told = rerail("import", transcript)
    assert told.status == 0
    assert told.lines[:2] == [
        f"{transcript}: chat-messages, 1 run, imported, not recorded",
        "1\t\t4\t1\tdone",
    ]
    assert any(line.startswith("  imported, not recorded: no bytes") for line in told.lines)


def test_the_conversation_with_its_places(transcript: Path, rerail: Callable[..., Any]) -> None:
    told = rerail("import", transcript, "--said")
    assert "message 2" in told.lines
    assert '  →         get_order(id="W5512")' in told.lines
    assert "\x1b" not in told.out


def test_where_to_look_first(transcript: Path, rerail: Callable[..., Any]) -> None:
    told = rerail("import", transcript, "--diagnose")
    assert told.status == 1
    assert any(line.startswith("  message 4  agent, linkage:") for line in told.lines)


def test_nothing_to_blame_is_no_proof(several: Path, rerail: Callable[..., Any]) -> None:
    told = rerail("import", several, "--run", "2", "--diagnose")
    assert told.status == 0
    assert "2\ttask 8\t1\t0\tunknown" in told.lines


def test_as_json_every_finding_has_its_evidence(several: Path, rerail: Callable[..., Any]) -> None:
    document = rerail("import", several, "--diagnose", "--json").json
    assert document["format"] == "chat-messages"
    assert [run["ids"] for run in document["runs"]] == [{"task": "7"}, {"task": "8"}]
    (told,) = [one for one in document["findings"] if one["detector"] == "misplaced-value"]
    assert told["evidence"][0]["source"] == "runs.json run 1"
    assert told["evidence"][0]["ref"] == "message 3"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--run", "3"), "has no run 3"),
        (("--mapping", "nowhere.yaml"), "No such file"),
    ],
)
def test_what_cannot_be(
    several: Path, rerail: Callable[..., Any], words: tuple[str, ...], what: str
) -> None:
    told = rerail("import", several, *words)
    assert told.status == 2
    assert what in told.err


def test_a_file_of_no_known_format(tmp_path: Path, rerail: Callable[..., Any]) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    told = rerail("import", path)
    assert told.status == 2
    assert "none of the known formats" in told.err


def test_why_says_where_a_value_of_an_imported_run_came_from(
    transcript: Path, several: Path, rerail: Callable[..., Any]
) -> None:
    told = rerail("why", transcript, "TR80017")
    assert told.lines[0] == "message 3  reply  $.tracking_id"
    assert rerail("why", transcript, "TR0").status == 1
    assert rerail("why", several, "TR80017").status == 2
    assert rerail("why", several, "TR80017", "--run", "1").status == 0


def test_a_tape_holds_one_run(rerail: Callable[..., Any], make_tape: Callable[..., Any]) -> None:
    made = make_tape()
    made.end()
    assert rerail("why", made.path, "x", "--run", "1").status == 2


def plug_in(folder: Path, code: str) -> None:
    """A package with a detector, as an installer leaves it."""
    (folder / "teapots.py").write_text(code)
    info = folder / "teapots-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: teapots\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rerail.detectors]\nteapots = teapots:DETECTORS\n")


TEAPOTS = """
from rerail.trace.detect.detector import OverStory, place

def find(reading):
    for said in reading.said:
        if "teapot" in said.message.text:
            yield MINE.finding("a teapot", [place(reading.story, said)], said.order)

MINE = OverStory("teapots", "agent", "linkage", "what is said", find)
DETECTORS = [MINE]
"""


def test_detectors_of_other_packages_look_only_where_they_are_asked_for(
    transcript: Path, rerail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plug_in(tmp_path, TEAPOTS)
    monkeypatch.syspath_prepend(tmp_path)
    for words, count in (([], 0), (["--plugins"], 1)):
        found = rerail("import", transcript, "--diagnose", "--json", *words).json["findings"]
        assert [one["detector"] for one in found].count("teapots") == count


def test_a_plug_in_that_is_broken_is_named(
    transcript: Path, rerail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plug_in(tmp_path, "DETECTOR = []")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "teapots", raising=False)
    told = rerail("import", transcript, "--diagnose", "--plugins")
    assert told.status == 2
    assert "the plug-in teapots (teapots:DETECTORS) cannot be loaded" in told.err
