"""One run in numbers, each of them read off its tape. The form alone; who reads is `measure`."""

from typing import Literal

from msgspec import Struct

from rerail.experiment.contract import Contract
from rerail.experiment.plan import Key

Outcome = Literal["fixed", "failed", "cheated", "broken"]


class Tokens(Struct, frozen=True, kw_only=True):
    """As the model's service counted them.

    `calls` are the answered ones, `uncounted` those of them whose service did not say. `unanswered`
    requests were refused or cut off, or there was nobody left to hear: some may have cost tokens.
    """

    input: int = 0
    output: int = 0
    calls: int = 0
    uncounted: int = 0
    unanswered: int = 0

    @property
    def total(self) -> int:
        """Read and written."""
        return self.input + self.output


class State(Struct, frozen=True, kw_only=True):
    """One saved state of the agent: at pause number `pause`.

    `turn` and `errors` are there where the agent waited for its model: how many turns it had had,
    and how many errors its last check had found (null: it had never checked). `size` is what the
    state is in bytes, `stored` what the tape keeps for it.
    """

    pause: int
    tool: str
    size: int
    stored: int
    turn: int | None = None
    errors: int | None = None


class Run(Struct, frozen=True, kw_only=True):
    """A run. `parent` is the tape it was forked from, `pause` the place; for a first run neither.

    `checked`: a check of the agent's own had run. `errors` and `cheats` are the verdict's, `why`
    says what broke a run that no model was the cause of, `mismatch` how the agent's check and the
    judge's did not agree.
    """

    key: Key
    tape: str
    tape_id: str
    outcome: Outcome
    models: list[str]
    tokens: Tokens
    turns: int
    checked: bool
    errors: list[str]
    cheats: list[str]
    states: list[State]
    began_ns: int
    took_ns: int
    plan: str
    parent: str = ""
    pause: int = 0
    hint: str = ""
    why: str = ""
    mismatch: str = ""

    @property
    def fixed(self) -> bool:
        return self.outcome == "fixed"


def point(run: Run, rule: str) -> State:
    """The state that a rule goes back to: one at which the agent waited for its model.

    A check that has not run says nothing about errors, and where one found none the run failed all
    the same: by a broken rule, or by what only the judge tests. Neither is a step that was close.
    A run without any other goes back to its start.
    """
    waiting = [state for state in run.states if state.turn is not None]
    known = [state for state in waiting if state.errors]
    if rule == "last":
        return waiting[-1]
    if not known:
        return waiting[0]
    fewest = min(state.errors or 0 for state in known)
    best = [state for state in known if state.errors == fewest]
    return best[0] if rule == "first-fewest" else best[-1]


def is_failure(run: Run) -> bool:
    """Whether there is something to go back into: its agent failed, not its model's service."""
    return run.outcome in ("failed", "cheated")


def kept_failures(firsts: list[Run | None], contract: Contract) -> tuple[list[Run], int]:
    """The failures that arms are run on, and how many first runs it took: the stop rule.

    `firsts` are in the plan's order, None for one that is not over: the rule sees no further.
    """
    kept: list[Run] = []
    for number, run in enumerate(firsts):
        if run is None or len(kept) == contract.failures:
            return kept, number
        if is_failure(run):
            kept.append(run)
    return kept, len(firsts)
