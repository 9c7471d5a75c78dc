"""The public sets: which runs are of which, who failed, and which nobody read."""

import json
from pathlib import Path
from typing import Any

from bench.public import HeldOut, held_out, runs

ONE = HeldOut("shops", "shop", "held-out/*.json")


def run(task: object, reward: float, *words: str, rules: str = "# Shop policy") -> dict[str, Any]:
    said = [{"role": "user", "content": text} for text in words]
    start = [{"role": "system", "content": rules}] if words else []
    return {"task_id": task, "reward": reward, "traj": [*start, *said]}


def stored(folder: Path, name: str, document: Any) -> Path:
    path = folder / "held-out" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_runs_are_parted_by_the_number_of_their_task(tmp_path: Path) -> None:
    stored(tmp_path, "a.json", [run(2, 0.0, "x"), run(3, 1.0, "y"), run(4, 1.0)])
    found = held_out(tmp_path, ONE)
    assert [(one.failed, one.unread) for one in found] == [(True, False), (False, True)]


def test_a_set_is_of_one_domain(tmp_path: Path) -> None:
    stored(tmp_path, "a.json", [run(2, 0.0, "x"), run(4, 1.0, "x", rules="# Airline policy")])
    assert len(held_out(tmp_path, ONE)) == 1
    assert held_out(tmp_path / "elsewhere", ONE) == []


def test_simulations_have_their_reward_elsewhere(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "x"}]
    one = {"task_id": "7", "messages": said, "reward_info": {"reward": 0.0}}
    document = {"info": {"environment_info": {"policy": "Shop"}}, "simulations": [one]}
    (found,) = runs(stored(tmp_path, "t.json", document))
    assert (found.failed, found.unread) == (True, True)
