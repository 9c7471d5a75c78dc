"""Which tape came from which: by the id that a fork names, or by what its parent was then."""

from pathlib import Path
from typing import Any

import pytest

from rerail.rewind import family as family_module
from rerail.rewind.family import Family, Member, family_in, read_members
from rerail.tape.reader import Tape
from rerail.tape.records import CaptureMissing, Parent
from rerail.tape.script_records import ScriptForked
from rerail.testing.tapes import WALL, Recording


def recorded(path: Path, parent: str = "", step: int = 0, **fields: Any) -> str:
    """A finished tape, a fork of the one with this id where there is one; gives its own."""
    came_from = Parent(tape_id=parent, step=step, relation="fork") if parent else None
    return Recording.begin(path, run_id=path.stem, parent=came_from, **fields).end()


def named(members: list[Member]) -> list[str]:
    return [member.path.stem for member in members]


def found(folder: Path) -> Family:
    return family_in(sorted(folder.glob("*.tape")))


def test_a_fork_is_its_parents_child_and_the_parent_is_found_by_its_bytes(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run.tape")
    for step, name in ((4, "late"), (2, "early"), (2, "too")):
        recorded(tmp_path / f"{name}.tape", run, step)
    (tmp_path / "run.tape").rename(tmp_path / "moved.tape")
    family = found(tmp_path)
    assert named(family.roots) == ["moved"]
    assert [child.path.stem for child in family.roots[0].children] == ["early", "too", "late"]
    assert all(child.parent is family.roots[0] for child in family.roots[0].children)


def test_a_fork_whose_parent_is_elsewhere_is_a_root(tmp_path: Path) -> None:
    recorded(tmp_path / "orphan.tape", "sha256:" + "ab" * 32, 3)
    (orphan,) = found(tmp_path).roots
    assert orphan.parent is None
    assert orphan.run.parent is not None


def test_of_two_copies_of_a_parent_one_has_the_children(tmp_path: Path) -> None:
    run = recorded(tmp_path / "a.tape")
    (tmp_path / "b.tape").write_bytes((tmp_path / "a.tape").read_bytes())
    recorded(tmp_path / "fork.tape", run, 1)
    children = {member.path.stem: len(member.children) for member in found(tmp_path).members}
    assert children == {"a": 1, "b": 0, "fork": 0}


def test_tapes_stand_in_the_order_of_their_starts(tmp_path: Path) -> None:
    for name, after in (("b", 0), ("a", 1), ("c", -1)):
        recorded(tmp_path / f"{name}.tape", wall=WALL + after)
    assert named(found(tmp_path).members) == ["c", "b", "a"]


def test_what_cannot_be_read_is_told_and_the_others_are_there(tmp_path: Path) -> None:
    recorded(tmp_path / "run.tape")
    (tmp_path / "torn.tape").write_text("torn")
    family = found(tmp_path)
    assert named(family.members) == ["run"]
    assert [str(tmp_path / "torn.tape") in error.what for error in family.damage] == [True]


def test_no_id_is_worked_out_for_nothing(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run.tape")
    assert [member.tape_id for member in found(tmp_path).members] == [""]
    recorded(tmp_path / "fork.tape", run, 1)
    assert run in [member.tape_id for member in found(tmp_path).members]
    assert {member.tape_id for member in read_members([tmp_path / "run.tape"]).members} == {""}


class TestAScriptThatHasGrown:
    """A fork of a script names its run as it was when it had so many events."""

    @pytest.fixture
    def grown(self, tmp_path: Path) -> Path:
        """A run that went on after it was forked, and the fork."""
        run = Recording.begin(tmp_path / "run.tape", run_id="run")
        run.event(CaptureMissing, what="something")
        run.writer.flush()
        with Tape.open(run.path) as tape:
            then, events = tape.id_of_first(2), tape.last_seq
        assert events == 2
        run.end()
        parent = Parent(tape_id=then, step=1, relation="fork")
        fork = Recording.begin(tmp_path / "fork.tape", run_id="fork", parent=parent)
        fork.event(ScriptForked, run_id="run", pause=1, events=events)
        fork.end()
        return tmp_path

    def test_is_the_parent_all_the_same(self, grown: Path) -> None:
        family = found(grown)
        assert named(family.roots) == ["run"]
        assert named(family.roots[0].children) == ["fork"]

    def test_and_not_another_run_of_the_same_name(self, grown: Path) -> None:
        (grown / "run.tape").unlink()
        recorded(grown / "run.tape", wall=WALL + 1)
        assert sorted(named(found(grown).roots)) == ["fork", "run"]

    def test_a_fork_says_so_early_or_is_none(
        self, grown: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(family_module, "_FORKED_BEFORE", 1)
        assert sorted(named(found(grown).roots)) == ["fork", "run"]
