"""The compiler and the Node that kept tools and tasks are tested with, or the reason to skip."""

import os
from functools import cache
from pathlib import Path

import pytest

from rerail.errors import ToolMissing
from rerail.experiment.tasks.toolbox import PINNED, Tools, find_tools
from rerail.tools.programs import TYPESCRIPT_VARIABLE, Program, find_typescript

_PUT_DOWN = Path(__file__).parents[1] / ".typescript"


def typescript_or_skip() -> Program:
    """The pinned compiler; without it the test is skipped by name."""
    try:
        found = find_typescript(environment=_environment(), beside=_PUT_DOWN)
    except ToolMissing as missing:
        pytest.skip(f"TypeScript is not installed (make typescript): {missing.what}")
    if found.version != PINNED:
        pytest.skip(f"TypeScript {PINNED} is not installed, but {found.version}")
    return found


@cache
def _tools() -> Tools | str:
    try:
        return find_tools(environment=_environment(), beside=_PUT_DOWN)
    except ToolMissing as missing:
        return missing.what


def tools_or_skip() -> Tools:
    """What judges the tasks; without it the test is skipped by name."""
    found = _tools()
    if isinstance(found, str):
        pytest.skip(f"tasks cannot be judged here: {found}")
    return found


def _environment() -> dict[str, str]:
    names = ("PATH", TYPESCRIPT_VARIABLE)
    return {name: os.environ[name] for name in names if name in os.environ}
