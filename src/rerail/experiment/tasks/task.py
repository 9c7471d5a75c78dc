"""The eight repair tasks, as folders of files: what an agent starts with, and what it never sees.

Knows no checker. A task is a small strict TypeScript project in which one thing has just changed.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_PROJECTS: Final = Path(__file__).parent / "projects"
_NEVER_TO_BE_CHANGED: Final = ("tsconfig.json", "package.json")
_PROMPT: Final = """\
{changed} Since then the project no longer compiles: repair it.

It is done when `tsc` reports no error and every function does what its comment says. Do not change
{protected}, and neither remove a file nor an export. Use no `any`, no type assertion, no `!` and no
`declare`, no @ts-ignore, @ts-expect-error or @ts-nocheck, and import nothing but its own files."""


@dataclass(frozen=True)
class RepairTask:
    """One repair. `hint` is what a person would say; it was written before any run was seen.

    `hidden_files` are the judge's tests; `repair_files` a whole project that passes them.
    """

    name: str
    changed: str
    hint: str
    protected: tuple[str, ...]
    start_files: dict[str, str]
    hidden_files: dict[str, str]
    repair_files: dict[str, str]

    @property
    def prompt(self) -> str:
        """What the agent is asked."""
        *some, last = self.protected
        return _PROMPT.format(changed=self.changed, protected=f"{', '.join(some)} or {last}")


@cache
def tasks() -> list[RepairTask]:
    """All tasks, by name."""
    folders = sorted(place for place in _PROJECTS.iterdir() if (place / "task.toml").is_file())
    return [_read(folder) for folder in folders]


def _read(folder: Path) -> RepairTask:
    about = tomllib.loads((folder / "task.toml").read_text("utf-8"))
    start = _files(folder / "start")
    return RepairTask(
        name=folder.name,
        changed=about["changed"],
        hint=about["hint"],
        protected=(*_NEVER_TO_BE_CHANGED, *about["protected"]),
        start_files=start,
        hidden_files=_files(folder / "hidden"),
        repair_files=start | _files(folder / "repair"),
    )


def _files(folder: Path) -> dict[str, str]:
    places = sorted(place for place in folder.rglob("*") if place.is_file())
    return {place.relative_to(folder).as_posix(): place.read_text("utf-8") for place in places}
