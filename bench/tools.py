"""What a check costs with a tool that stays, beside one that is started for it."""

import os
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Final

from bench.arena import Arena, progress
from bench.contenders import ROOT
from bench.figures import Goal, Row, row
from rerail.errors import ToolMissing
from rerail.experiment.tasks.task import tasks
from rerail.tools.kept import KeptTool
from rerail.tools.programs import find_ty, find_typescript
from rerail.tools.python import Python
from rerail.tools.typescript import TypeScript

EDITS: Final = 12
_GOAL: Final = Goal("value", "at most", 60.0)
_MODULES: Final = 8


def measure(arena: Arena) -> list[Row]:
    """Milliseconds a check, one file edited before each; *direct* is the cold run."""
    rows: list[Row] = []
    for tool, files, edited, goal in _tools(arena):
        kept, cold = [], []
        with tool:
            tool.check(files)
            for number in range(arena.plan.start_rounds):
                progress(f"{tool.name}, round {number + 1} of {arena.plan.start_rounds}")
                found = [tool.both(_edit(files, edited, number, each)) for each in range(EDITS)]
                if any(both.mismatch for both in found):
                    arena.note(f"{tool.name}: kept and cold did not agree")
                kept.append(median(both.kept.took_ns for both in found) / 1e6)
                cold.append(median(both.cold.took_ns for both in found) / 1e6)
        name = f"a check with {tool.name} {tool.version}, kept"
        rows.append(row(name, "ms", direct=cold, rerail=kept, goal=goal))
    return rows


def _tools(arena: Arena) -> Iterator[tuple[KeptTool, dict[str, str], str, Goal | None]]:
    environment = dict(os.environ)
    try:
        compiler = find_typescript(environment=environment, beside=ROOT / ".typescript")
        yield TypeScript(compiler), _typescript(), "src/module0.ts", _GOAL
    except ToolMissing as missing:
        arena.note(f"{missing.what}: its check was not measured")
    try:
        yield Python(find_ty(environment=environment)), _python(), "module0.py", None
    except ToolMissing as missing:
        arena.note(f"{missing.what}: its check was not measured")


def _edit(files: Mapping[str, str], path: str, number: int, each: int) -> dict[str, str]:
    """Every other edit is wrong; the file is the one that all others stand on."""
    wrong = "\nexport const wrong: string = 1;\n" if path.endswith(".ts") else "\nwrong: str = 1\n"
    right = f"\n{'//' if path.endswith('.ts') else '#'} {number} {each}\n"
    return {**files, path: files[path] + (wrong if each % 2 else "") + right}


def _typescript() -> dict[str, str]:
    """Eight modules, each on the one before it, strict."""
    files = {"tsconfig.json": tasks()[0].start_files["tsconfig.json"]}
    files["src/module0.ts"] = "export const step0 = (items: string[]): number => items.length;\n"
    for number in range(1, _MODULES):
        before = number - 1
        files[f"src/module{number}.ts"] = (
            f'import {{ step{before} }} from "./module{before}.js";\n'
            f"export const step{number} = (items: string[]): number => step{before}(items) + 1;\n"
        )
    return files


def _python() -> dict[str, str]:
    files = {"module0.py": "def step0(items: list[str]) -> int:\n    return len(items)\n"}
    for number in range(1, _MODULES):
        before = number - 1
        files[f"module{number}.py"] = (
            f"from module{before} import step{before}\n\n\n"
            f"def step{number}(items: list[str]) -> int:\n    return step{before}(items) + 1\n"
        )
    return files
