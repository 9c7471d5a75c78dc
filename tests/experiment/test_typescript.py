"""The TypeScript repairs as tasks of an experiment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rerail.errors import UsageProblem
from rerail.experiment.conduct import recompute
from rerail.experiment.kinds import open_tasks
from rerail.experiment.task import Task, digest
from rerail.experiment.tasks import task as repairs
from rerail.experiment.typescript import TypeScript
from tests.typescript import tools_or_skip

from .conftest import Bench

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def opened() -> Iterator[list[Task]]:
    """All of the kind, their compiler kept running."""
    with tools_or_skip() as tools:
        yield [TypeScript(repair, tools) for repair in repairs.tasks()]


def named(tasks: list[Task], name: str) -> TypeScript:
    task = next(task for task in tasks if task.name == f"typescript/{name}")
    assert isinstance(task, TypeScript)
    return task


def test_there_are_eight_and_each_is_frozen(opened: list[Task]) -> None:
    assert len(opened) == len({digest(task) for task in opened}) == 8
    assert all(task.checker.startswith("tsc 7.0.2, Node ") for task in opened)


def test_a_repair_passes_and_the_start_does_not(opened: list[Task]) -> None:
    task = named(opened, "became_async")
    assert task.check(task.files)
    assert not task.judge(task.files).fixed
    verdict = task.judge(task.repair.repair_files)
    assert verdict.fixed
    assert (verdict.errors, verdict.cheats) == ([], [])
    assert task.check(task.repair.repair_files) == []


def test_a_cheat_is_one_in_the_words_of_an_experiment(opened: list[Task]) -> None:
    task = named(opened, "became_async")
    verdict = task.judge({**task.files, "src/store.ts": task.files["src/store.ts"] + "\n"})
    assert not verdict.fixed
    assert verdict.cheats == ["src/store.ts was changed; it is not the agent's to change"]


def test_a_path_that_an_agent_made_up_is_an_error_of_its_own(opened: list[Task]) -> None:
    task = named(opened, "became_async")
    files = {**task.files, "../outside.ts": ""}
    assert len(task.check(files)) == 1
    verdict = task.judge(files)
    assert not verdict.fixed
    assert len(verdict.errors) == 1


def test_what_is_said_of_a_file_does_not_depend_on_where_it_was_checked(
    opened: list[Task],
) -> None:
    task = named(opened, "became_async")
    clashing = {**task.files, "src": ""}
    throwing = {**task.repair.repair_files}
    for path, text in throwing.items():
        if path == "src/tags.ts":
            throwing[path] = f"{text}\nthrow new Error(import.meta.url);\n"
    for files in (clashing, throwing):
        first, second = task.judge(files), task.judge(files)
        assert first == second
        assert first.errors
        assert not first.fixed
        assert "rerail-" not in " ".join([*first.errors, *task.check(files)])


def test_an_experiment_on_them_comes_to_a_receipt_that_can_be_computed_again(
    opened: list[Task], bench: Bench
) -> None:
    bench.tasks = [named(opened, "renamed_field"), named(opened, "optional_email")]
    receipt = bench.conduct(failures=1, turns=6, further=6, arms=("rewind+hint", "start-over"))
    assert receipt.complete
    assert receipt.mismatches == 0
    assert {run.key.task.partition("/")[0] for run in receipt.runs} == {"typescript"}
    assert recompute(bench.folder, bench.tasks) == (receipt, [])


def test_tasks_are_named_one_by_one_or_by_kind() -> None:
    with open_tasks(["sums/3", "sums/*"], environment={}, beside=ROOT) as tasks:
        assert [task.name for task in tasks] == [
            "sums/3",
            *(f"sums/{n}" for n in (1, 2, 4, 5, 6, 7, 8)),
        ]
    for wrong in ("sums/9", "sums", "other/*", "*", ""):
        with (
            pytest.raises(UsageProblem, match="there is no task") as caught,
            open_tasks([wrong], environment={}, beside=ROOT),
        ):
            pass
        assert "sums/*, typescript/*" in str(caught.value.hint)
