"""Which run comes next depends on what the runs came to, and on nothing else."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from rerail.errors import UserError
from rerail.experiment.measured import Run
from rerail.experiment.plan import FIRST, Key
from rerail.experiment.schedule import Job, Schedule, Stopped

from .made_up import key, plan, run


class Watched:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    def phase(self, what: str, done: int, total: int) -> None:
        self.said.append((what, done, total))

    def over(self, run: Run, done: int) -> None:
        self.said.append((run.key.name, done))


class Stage:
    """Carries runs out as a table says; what is not in it fails."""

    def __init__(self, outcomes: dict[Key, str] | None = None, **changes: Any) -> None:
        self.outcomes = outcomes or {}
        self.plan = plan(**changes)
        self.over: dict[Key, Run] = {}
        self.begun: list[Job] = []
        self.watched = Watched()
        self.stop = threading.Event()
        self.before: Callable[[Job], None] = lambda job: None

    def carry_out(self, job: Job) -> Run:
        self.begun.append(job)
        self.before(job)
        return run(job.key, self.outcomes.get(job.key, "failed"))

    def conduct(self) -> None:
        Schedule(self.plan, self.over, self.carry_out, self.watched, self.stop).conduct()

    def firsts(self) -> list[Key]:
        return sorted(job.key for job in self.begun if job.key.arm == FIRST)


def test_first_runs_until_enough_have_failed_then_every_arm_of_each() -> None:
    stage = Stage({key(2): "fixed"}, parallel=1)
    stage.conduct()
    assert [job.key for job in stage.begun[:4]] == [key(1), key(2), key(3), key(1, 1)]
    arms = stage.begun[4:]
    assert len(arms) == 3 * 5
    assert {job.key.arm for job in arms} == set(stage.plan.contract.arms)
    assert all(job.failure is not None and job.failure.key.task == job.key.task for job in arms)
    assert stage.watched.said[0] == ("failures", 0, 3)
    assert ("arms", 0, 15) in stage.watched.said
    assert stage.watched.said[-1][1] == 15


@pytest.mark.parametrize("parallel", [1, 2, 4])
def test_what_is_kept_does_not_depend_on_how_many_go_on_at_a_time(parallel: int) -> None:
    stage = Stage({key(1): "fixed"}, parallel=parallel)
    stage.conduct()
    kept = {(job.key.task, job.key.seed) for job in stage.begun if job.failure}
    assert kept == {("sums/2", 0), ("sums/3", 0), ("sums/1", 1)}


def test_a_slow_first_run_lets_no_more_be_begun_than_can_be_needed() -> None:
    """The first in the plan's order is the last to end; meanwhile three others have failed."""
    stage = Stage(parallel=2, seeds=20)
    enough = threading.Event()

    def before(job: Job) -> None:
        if job.key == key(1):
            assert enough.wait(30)
        elif len(stage.firsts()) == 4:
            enough.set()

    stage.before = before
    stage.conduct()
    assert len(stage.firsts()) == 4
    assert {job.failure.key for job in stage.begun if job.failure} == {key(1), key(2), key(3)}


def test_what_is_over_is_not_begun_again() -> None:
    stage = Stage(parallel=1)
    stage.over = {key(1): run(key(1)), key(1, 0, "rewind"): run(key(1, 0, "rewind"), "fixed")}
    stage.conduct()
    begun = [job.key for job in stage.begun]
    assert len(begun) == len(set(begun)) == 2 + 3 * 5 - 1
    assert not {key(1), key(1, 0, "rewind")} & set(begun)
    assert ("failures", 1, 3) in stage.watched.said
    assert ("arms", 1, 15) in stage.watched.said


def test_it_ends_where_there_are_no_more_first_runs() -> None:
    stage = Stage({key(n, s): "fixed" for n in (1, 2, 3) for s in (0, 1)})
    stage.conduct()
    assert len(stage.begun) == 6
    assert ("arms", 0, 0) in stage.watched.said


def test_what_went_well_beside_an_error_is_kept() -> None:
    stage = Stage(parallel=2)
    there = threading.Barrier(2, timeout=30)

    def before(job: Job) -> None:
        there.wait()
        if job.key == key(1):
            raise UserError("nobody there")

    stage.before = before
    with pytest.raises(UserError, match="nobody there"):
        stage.conduct()
    assert stage.over.keys() <= {key(2)}
    assert stage.stop.is_set()
    stage.before, stage.stop = (lambda job: None), threading.Event()
    stage.conduct()
    assert key(1) in stage.over


def test_once_it_is_to_stop_nothing_more_is_begun() -> None:
    stage = Stage(parallel=1)
    stage.before = lambda job: stage.stop.set() if len(stage.begun) == 2 else None
    with pytest.raises(Stopped) as caught:
        stage.conduct()
    assert len(stage.begun) == 2
    assert caught.value.exit_code == 130
