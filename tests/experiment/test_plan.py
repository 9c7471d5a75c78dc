"""A plan is all that could change a result, and nothing else."""

from typing import Any

import pytest

from rerail.experiment.contract import Model
from rerail.experiment.plan import make_plan, model_seed
from rerail.experiment.sums import Sums

from .made_up import TASKS, contract, key, plan


def test_first_runs_go_seed_by_seed_over_all_tasks() -> None:
    assert plan().firsts()[:4] == [key(1), key(2), key(3), key(1, 1)]


def test_how_many_go_on_at_a_time_changes_nothing() -> None:
    assert plan(parallel=7).digest == plan().digest


@pytest.mark.parametrize(
    "changes",
    [
        {"turns": 6},
        {"further": 6},
        {"failures": 4},
        {"seeds": [0, 2]},
        {"arms": ("rewind",)},
        {"point": "last"},
        {"hint": "errors"},
        {"model": Model(serve="local")},
        {"model": Model(serve="simulated", sampling={"temperature": 0.1})},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_everything_else_is_another_plan(changes: dict[str, Any]) -> None:
    assert plan(**changes).digest != plan().digest


def test_another_task_is_another_plan() -> None:
    assert make_plan(contract(), [*TASKS[:2], Sums(4)]).digest != plan().digest


def test_the_task_freezes_its_rule_and_its_hint() -> None:
    frozen = plan().tasks[0]
    assert (frozen.name, frozen.hint, frozen.rule) == ("sums/1", TASKS[0].hint, TASKS[0].rule)
    assert frozen.checker == "sums 1"


def test_each_model_call_has_a_seed_of_its_own() -> None:
    seeds = {
        model_seed(key(task, seed, arm), turn)
        for task in (1, 2)
        for seed in (0, 1)
        for arm in ("first", "start-over")
        for turn in range(5)
    }
    assert len(seeds) == 40
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert model_seed(key(1), 0) == model_seed(key(1), 0)
