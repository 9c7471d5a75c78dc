"""What an experiment has promised before its first run: everything that could change a result.

Its digest stands on every tape and on the receipt. Pure.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rerail.experiment import agent
from rerail.experiment.contract import Contract
from rerail.experiment.task import Task, digest

FORMAT: Final = 1
FIRST: Final = "first"
"""The arm, so to say, of a first run."""

STOP_RULE: Final = (
    "first runs go seed by seed, in each over all tasks in the order of the plan; the failures "
    "kept are the first that fail in this order, as many as were asked for; runs after the last "
    "of them are kept and not counted"
)
POINT_RULE: Final = (
    "of the steps at which the agent waited for its model, by the errors that its last check had "
    "found, more than none; where there is no such step, the first"
)
BROKEN_RULE: Final = (
    "a run that its model's service broke is no failure to rewind where it is a first run, and "
    "counts as not fixed in an arm; a line beside it leaves such runs out"
)


class Key(Struct, frozen=True, order=True):
    """Which run: of a task, with a seed, in an arm (`first`, or one of the contract's)."""

    task: str
    seed: int
    arm: str

    @property
    def name(self) -> str:
        """Fit for a file's name."""
        return f"{self.task.replace('/', '-')}.{self.seed}.{self.arm}"


class FrozenTask(Struct, frozen=True, kw_only=True):
    """A task as it was when the plan was made."""

    name: str
    digest: str
    checker: str
    rule: str
    hint: str


class Plan(Struct, frozen=True, kw_only=True):
    """All that is fixed beforehand. `agent` is the SHA-256 of the agent's program."""

    format: int = FORMAT
    contract: Contract
    tasks: list[FrozenTask]
    agent: str
    stop_rule: str = STOP_RULE
    point_rule: str = POINT_RULE
    broken_rule: str = BROKEN_RULE

    @property
    def digest(self) -> str:
        """`sha256:…` over everything but how many runs go on at a time."""
        fixed = replace(self, contract=replace(self.contract, parallel=1))
        encoded = msgspec.json.encode(fixed, order="deterministic")
        return f"sha256:{hashlib.sha256(encoded).hexdigest()}"

    def firsts(self) -> list[Key]:
        """All first runs that there can be, in the order of the stop rule."""
        seeds = self.contract.all_seeds
        return [Key(task.name, seed, FIRST) for seed in seeds for task in self.tasks]


def make_plan(contract: Contract, tasks: Sequence[Task]) -> Plan:
    """Freeze an experiment."""
    frozen = [
        FrozenTask(
            name=task.name,
            digest=digest(task),
            checker=task.checker,
            rule=task.rule,
            hint=task.hint,
        )
        for task in tasks
    ]
    program = hashlib.sha256((agent.SYSTEM + agent.SOURCE).encode()).hexdigest()
    return Plan(contract=contract, tasks=frozen, agent=f"sha256:{program}")


def model_seed(key: Key, turn: int) -> int:
    """The seed of one model call. Arms differ, or starting over would only repeat the first run."""
    text = f"{key.task} {key.seed} {key.arm} {turn}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1
