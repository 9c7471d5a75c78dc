"""The tapes of one run in a folder: its own, those that go on with it, and no copy."""

import shutil
from pathlib import Path

import pytest

from rerail.tape import plane_records as planes
from rerail.testing.plane_tapes import PlaneTape, run_8894
from rerail.testing.tapes import Recording
from rerail.trace.tapes_of_run import NoSuchRun, followers, tapes_of_run


def following(path: Path, run_id: str, of: str) -> Path:
    tape = PlaneTape.begin(path, run_id=run_id)
    tape.put(planes.TaskFollows, run_id=of, tape_id="sha256:0", relation="apply")
    return tape.end()


def test_its_own_first_then_what_goes_on_with_it_and_with_that(tmp_path: Path) -> None:
    own = run_8894(tmp_path / "z.tape")
    following(tmp_path / "a.tape", "RUN-2", "RUN-8894")
    following(tmp_path / "b.tape", "RUN-3", "RUN-2")
    following(tmp_path / "c.tape", "RUN-4", "RUN-9")
    shutil.copyfile(own, tmp_path / "copy.tape")
    (tmp_path / "torn.tape").write_bytes(b"SQLite format 3\x00 and no more")
    found = [tape.run_id for tape in tapes_of_run("RUN-8894", [tmp_path, tmp_path / "nowhere"])]
    assert found == ["RUN-8894", "RUN-2", "RUN-3"]
    assert [tape.path.name for tape in followers(own)] == ["a.tape", "b.tape"]


def test_an_ordinary_run_has_nobody_behind_it(tmp_path: Path) -> None:
    tape = Recording.begin(tmp_path / "a.tape")
    tape.end()
    run_8894(tmp_path / "b.tape")
    assert followers(tape.path) == []


def test_a_run_of_which_there_is_no_tape(tmp_path: Path) -> None:
    with pytest.raises(NoSuchRun, match="no tape of run RUN-1"):
        tapes_of_run("RUN-1", [tmp_path])
