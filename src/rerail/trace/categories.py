"""The seven categories of defects: what is usually done about each, and by whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rerail.trace.finding import Category


@dataclass(frozen=True, slots=True)
class Advice:
    """What a category calls for: the mend, what would keep it from coming again, and who owns it.

    `record` is what to record the next time, should it not be reproduced.
    """

    recovery: str
    prevention: str
    owner: str
    record: str


ADVICE: Final[Mapping[Category, Advice]] = {
    "task": Advice(
        "correct and version the task, then start a new run",
        "refuse to start a run whose inputs are not those that the contract names",
        "owner of the task",
        "every input with its version and digest, as it was given to the agent",
    ),
    "agent": Advice(
        "revise the instructions, tools or examples, and run the evaluation set again",
        "keep this run as a test, so that the same proposal is refused again",
        "owner of the agent",
        "the whole prompt, and every tool's reply as the model was told it",
    ),
    "tool": Advice(
        "fix or isolate the tool, then retry from a known state",
        "check each reply against the tool's own schema before the agent is told it",
        "owner of the tool",
        "the tool's own log under the request's identifier",
    ),
    "check": Advice(
        "repair the checker and recompute the verdict for the unchanged proposal",
        "refuse to start the checker where what the contract names cannot be loaded",
        "operator of the verdict plane",
        "what the checker loaded, by name, version and digest",
    ),
    "boundary": Advice(
        "refuse to go on, and ask anew for an approval of exactly this",
        "let the applier refuse whatever an approval does not name",
        "operator of the approvals",
        "each approval's scope, decision and use",
    ),
    "target": Advice(
        "reconcile the target's state before deciding whether to retry",
        "read the target back after each action, by a path of its own",
        "owner of the target",
        "the target's own log under the attempt's identifier",
    ),
    "runtime": Advice(
        "restore the runtime, and go on only from a point that is known to be safe",
        "watch the resource, and end a run before it is used up",
        "operator of the runner",
        "budgets, limits and the end of every process",
    ),
}
