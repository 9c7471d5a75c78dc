"""The tasks as they lie on the disk."""

import pytest

from rerail.experiment.tasks.task import RepairTask, tasks

NAMES = [
    "became_async",
    "config_gained_field",
    "generic_result",
    "new_union_member",
    "optional_email",
    "readonly_arrays",
    "renamed_field",
    "unchecked_index",
]


def test_there_are_eight() -> None:
    assert [task.name for task in tasks()] == NAMES


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_a_task_is_whole(task: RepairTask) -> None:
    assert {"tsconfig.json", "package.json"} < set(task.protected) <= task.start_files.keys()
    assert task.hidden_files.keys() == {"types.ts", "run.mjs"}
    assert task.repair_files.keys() == task.start_files.keys()
    changed = {path for path, text in task.repair_files.items() if text != task.start_files[path]}
    assert changed
    assert not changed & set(task.protected)


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_what_is_asked_names_the_rules_and_not_the_answer(task: RepairTask) -> None:
    assert task.changed in task.prompt
    assert all(path in task.prompt for path in task.protected)
    assert "@ts-expect-error" in task.prompt
    assert task.hint not in task.prompt
    assert "judge" not in task.prompt


def test_the_compiler_is_as_strict_in_every_task() -> None:
    assert len({task.start_files["tsconfig.json"] for task in tasks()}) == 1
    config = tasks()[0].start_files["tsconfig.json"]
    for option in ("strict", "noUncheckedIndexedAccess", "exactOptionalPropertyTypes"):
        assert f'"{option}": true' in config
