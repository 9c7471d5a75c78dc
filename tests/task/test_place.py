"""The folders of one run: two planes, all gone at the end, also after one that was killed."""

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from rerail.errors import UsageProblem
from rerail.task.place import Place


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def runs(environment: dict[str, str]) -> list[str]:
    folder = Path(environment["XDG_STATE_HOME"]) / "rerail" / "runs"
    return sorted(entry.name for entry in folder.iterdir())


def test_the_planes_share_no_folder_and_all_is_gone_at_the_end(
    environment: dict[str, str],
) -> None:
    place = Place(environment, "RUN-1")
    (place.agents("workspace") / "a").touch()
    (place.own("apply") / "b").touch()
    assert not place.own("apply").is_relative_to(place.agent)
    place.remove(keep_workspace=False)
    assert not place.agent.exists()
    assert runs(environment) == []


def test_a_workspace_may_stay(environment: dict[str, str]) -> None:
    place = Place(environment, "RUN-1")
    place.agents("home")
    (place.agents("workspace") / "a").touch()
    place.remove(keep_workspace=True)
    assert [entry.name for entry in place.agent.iterdir()] == ["workspace"]


def test_two_runners_that_start_together_leave_each_other_alone(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[Place] = []
    real = fcntl.flock

    def meanwhile(descriptor: int, how: int) -> Any:
        if how == fcntl.LOCK_EX and not others:
            monkeypatch.setattr(fcntl, "flock", real)
            others.append(Place(environment, "RUN-2"))
        return real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", meanwhile)
    place = Place(environment, "RUN-1")
    assert len(runs(environment)) == 2
    for one in (place, *others):
        assert one.own("apply").is_dir()
        one.remove(keep_workspace=False)


def test_what_a_killed_runner_left_goes_with_the_next(environment: dict[str, str]) -> None:
    killed = Place(environment, "RUN-1")
    os.close(killed._lock)  # as the system does it
    place = Place(environment, "RUN-2")
    assert not killed.agent.exists()
    assert [name[:5] for name in runs(environment)] == ["RUN-2"]
    place.remove(keep_workspace=False)


def test_a_run_with_a_path_for_a_name_stays_in_its_place(environment: dict[str, str]) -> None:
    place = Place(environment, "../../RUN/1")
    assert runs(environment)[0].startswith("..-..-RUN-1-")
    place.remove(keep_workspace=False)


def test_where_no_folder_can_be_made_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(UsageProblem, match="no folder for the run"):
        Place({"XDG_STATE_HOME": str(tmp_path / "state")}, "RUN-1")
