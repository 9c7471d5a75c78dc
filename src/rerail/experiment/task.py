"""What an experiment needs of a task, whatever it is about. Knows no model and no tape.

A task is files with something wrong in them. The agent may `check` its files as often as it has
turns for; whether it succeeded is for `judge` alone, whose material the agent never sees.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

Files = Mapping[str, str]
"""Contents by path."""


class CheckBroke(Exception):
    """The checker itself failed on an agent's files: that run ends, and is no verdict."""


class Verdict(Struct, frozen=True):
    """Whether files pass.

    `cheated`: the agent's own check finds nothing wrong in them, but a rule was broken. `errors`
    are what is wrong, `cheats` the rules that were broken. `mismatch`: the check that the agent had
    at hand says otherwise of these files than the judge's own, a fault of the check.
    """

    fixed: bool
    cheated: bool
    errors: list[str]
    cheats: list[str]
    checker: str
    mismatch: str = ""


class Task(Protocol):
    """One task. Its methods may be called from several threads."""

    @property
    def name(self) -> str:
        """`kind/name`, such as `sums/3`."""

    @property
    def files(self) -> Files:
        """What the agent begins with."""

    @property
    def prompt(self) -> str:
        """What the agent is asked to do."""

    @property
    def hint(self) -> str:
        """What a person would say who had looked at the work so far; not the answer."""

    @property
    def rule(self) -> str:
        """When it counts as fixed, in words."""

    @property
    def checker(self) -> str:
        """What checks and judges, with its version."""

    @property
    def material(self) -> Mapping[str, str]:
        """What `judge` uses besides: hidden tests, files that it puts back."""

    def actions(self, turn: int) -> Mapping[str, Any]:
        """The JSON schema of what a model that is kept to one may answer in a turn, from 0."""

    def check(self, files: Files) -> list[str]:
        """What the agent is told is wrong; nothing where all is well."""

    def judge(self, files: Files) -> Verdict:
        """The verdict that counts."""


def digest(task: Task) -> str:
    """What freezes a task: any change of it is another task."""
    fields = {
        "name": task.name,
        "files": dict(task.files),
        "prompt": task.prompt,
        "hint": task.hint,
        "rule": task.rule,
        "checker": task.checker,
        "material": dict(task.material),
        "actions": [task.actions(turn) for turn in range(2)],
    }
    encoded = msgspec.json.encode(fields, order="deterministic")
    return f"sha256:{hashlib.sha256(encoded).hexdigest()}"


def action(tool: str, **fields: Mapping[str, Any]) -> dict[str, Any]:
    """One of the agent's actions (read, write, check, done) as a JSON schema."""
    properties = {"tool": {"const": tool}, **fields}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
