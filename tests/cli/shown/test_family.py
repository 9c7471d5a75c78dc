"""`rerail show FOLDER`: which tape came from which; and what a tape's own page says of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape.records import Edit, Parent
from rerail.testing.tapes import Recording
from tests.cli.conftest import Result

Rerail = Callable[..., Result]
Family = dict[str, str]


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A run, two forks of it, a fork of a fork, one whose parent is not here, and a stranger."""
    folder = tmp_path / "runs"
    folder.mkdir()
    ids: dict[str, str] = {}

    def make(name: str, parent: str = "", step: int = 0, status: int = 0) -> None:
        came_from = Parent(tape_id=ids.get(parent, parent), step=step, relation="fork")
        fields: dict[str, Any] = {"run_id": name, "parent": came_from if parent else None}
        recording = Recording.begin(folder / f"{name}.tape", **fields)
        ids[name] = recording.end(status)

    make("run", status=1)
    make("late", "run", 4)
    make("early", "run", 2)
    make("again", "late", 5)
    make("orphan", "sha256:" + "ab" * 32, 3)
    return folder


def test_each_fork_stands_under_its_parent(family: Path, rerail: Rerail) -> None:
    result = rerail("show", family)
    assert (result.status, result.err) == (0, "")
    assert [line.split("\t")[:3] for line in result.lines] == [
        ["orphan.tape", "fork of sha256:abababababab, which is not here, at s3", "exit 0"],
        ["run.tape", "", "exit 1"],
        ["early.tape", "fork of run.tape at s2", "exit 0"],
        ["late.tape", "fork of run.tape at s4", "exit 0"],
        ["again.tape", "fork of late.tape at s5", "exit 0"],
    ]


def test_the_tree_as_json(family: Path, rerail: Rerail) -> None:
    orphan, run = rerail("show", family, "--json").json["tapes"]
    assert (orphan["parent"]["here"], run["parent"]) == (False, None)
    early, late = run["children"]
    assert late["parent"] == {
        "tape_id": run["id"], "step": 4, "relation": "fork", "here": True, "edits": []
    }  # fmt: skip
    assert [child["run_id"] for child in late["children"]] == ["again"]
    assert not early["children"]


def test_many_forks_stand_by_their_numbers_with_what_was_put_into_them(
    tmp_path: Path, rerail: Rerail
) -> None:
    run = Recording.begin(tmp_path / "run.tape")
    root = run.end(1)
    for number in (10, 2, 1):
        edits = [
            Edit(step=2, kind="hint", text="of an earlier fork"),
            Edit(step=4, kind="answer", text="{}"),
            Edit(step=4, kind="hint", text=f"hint {number}"),
        ]
        parent = Parent(tape_id=root, step=4, relation="fork", edits=edits)
        Recording.begin(tmp_path / f"run.s4-{number}.tape", parent=parent).end()
    rows = [line.split("\t") for line in rerail("show", tmp_path).lines]
    assert [(row[0], row[5]) for row in rows] == [
        ("run.tape", ""),
        ("run.s4-1.tape", "answer, hint 1"),
        ("run.s4-2.tape", "answer, hint 2"),
        ("run.s4-10.tape", "answer, hint 10"),
    ]
    told = rerail("show", tmp_path, "--json").json["tapes"][0]["children"][0]["parent"]["edits"]
    assert told[0] == {"step": 2, "kind": "hint", "text": "of an earlier fork"}


def test_a_tape_names_what_came_of_it(family: Path, rerail: Rerail) -> None:
    lines = rerail("show", family / "run.tape").lines
    assert [line for line in lines if line.startswith("fork")] == [
        "fork\tearly.tape at s2, exit 0",
        "fork\tlate.tape at s4, exit 0",
    ]


def test_a_tape_that_cannot_be_read_is_told(family: Path, rerail: Rerail) -> None:
    (family / "torn.tape").write_text("torn")
    result = rerail("show", family)
    assert result.status == 1
    assert "torn.tape" in result.err
    assert len(result.lines) == 5


def test_of_a_folder_there_is_nothing_else(family: Path, tmp_path: Path, rerail: Rerail) -> None:
    for words in (["r1"], ["--steps"], ["--files", "end"], ["r1", "--raw"]):
        rerail("show", family, *words).assert_complaint(2, "it is a folder", "name a .tape file")
    rerail("show", tmp_path).assert_complaint(2, "it is a folder", "name a .tape file")
