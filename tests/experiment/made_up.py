"""Runs that nobody ran, for what is computed from runs."""

from typing import Any

from rerail.experiment.contract import Contract, Model
from rerail.experiment.measured import Run, State, Tokens
from rerail.experiment.plan import FIRST, Key, Plan, make_plan
from rerail.experiment.sums import Sums

TASKS = [Sums(1), Sums(2), Sums(3)]


def contract(**changes: Any) -> Contract:
    fields: dict[str, Any] = {
        "name": "made up",
        "model": Model(serve="simulated"),
        "tasks": ["sums/*"],
        "seeds": 2,
        "failures": 3,
    }
    return Contract(**{**fields, **changes})


def plan(**changes: Any) -> Plan:
    return make_plan(contract(**changes), TASKS)


def key(task: int, seed: int = 0, arm: str = FIRST) -> Key:
    return Key(f"sums/{task}", seed, arm)


def states(*errors: int | None) -> list[State]:
    """States at which the agent waited for its model, with the errors known by then."""
    return [
        State(pause=2 * turn + 1, tool="think", size=1000 + turn, stored=100, turn=turn, errors=e)
        for turn, e in enumerate(errors)
    ]


def run(of: Key, outcome: str = "failed", **changes: Any) -> Run:
    fields: dict[str, Any] = {
        "key": of,
        "tape": f"runs/{of.name}.tape",
        "tape_id": f"sha256:{of.name}",
        "outcome": outcome,
        "models": ["simulated-1"],
        "tokens": Tokens(input=90, output=10, calls=5),
        "turns": 5,
        "checked": True,
        "errors": [] if outcome == "fixed" else ["a.txt is wrong"],
        "cheats": ["sums.txt was changed"] if outcome == "cheated" else [],
        "states": states(None, 3, 3),
        "began_ns": 10**18,
        "took_ns": 10**9,
        "plan": "sha256:plan",
    }
    return Run(**{**fields, **changes})
