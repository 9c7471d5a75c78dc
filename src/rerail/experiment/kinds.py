"""The kinds of tasks that there are, and the tasks by their names. Finds what a kind needs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rerail.errors import UsageProblem
from rerail.experiment import sums, typescript
from rerail.experiment.task import Task
from rerail.experiment.tasks import task as repairs
from rerail.experiment.tasks.toolbox import find_tools


@contextmanager
def open_tasks(
    names: Sequence[str], *, environment: Mapping[str, str], beside: Path
) -> Iterator[list[Task]]:
    """The tasks of these names, in order, each once; `sums/*` is all of a kind.

    Their checkers are found beforehand, kept running inside the block, and stopped after it.

    Raises:
        UsageProblem: There is no such task.
        ToolMissing: What checks them is not on this machine.
    """
    chosen = _chosen(names)
    with ExitStack() as stack:
        known: dict[str, Task] = {task.name: task for task in sums.tasks()}
        if any(name.startswith(f"{typescript.KIND}/") for name in chosen):
            tools = stack.enter_context(find_tools(environment=environment, beside=beside))
            found = [typescript.TypeScript(repair, tools) for repair in repairs.tasks()]
            known |= {task.name: task for task in found}
        yield [known[name] for name in chosen]


def _chosen(names: Sequence[str]) -> list[str]:
    known = [task.name for task in sums.tasks()]
    known += [f"{typescript.KIND}/{repair.name}" for repair in repairs.tasks()]
    chosen: dict[str, None] = {}
    for name in names:
        kind = name[:-1] if name.endswith("/*") else name
        named = [task for task in known if task == name or (kind != name and task.startswith(kind))]
        if not named:
            kinds = sorted({task.partition("/")[0] + "/*" for task in known})
            raise UsageProblem(f"there is no task `{name}`", hint=f"there are {', '.join(kinds)}")
        chosen |= dict.fromkeys(named)
    return list(chosen)
