"""Finds out what an action did whose outcome is not known: from the target, or from a person.

The target is read and asked by its own commands; what they say goes onto a tape of its own. Only
where nothing can be under way any more is the task free again.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rerail.errors import UsageProblem
from rerail.holds import Attempt, Holds
from rerail.launch.child import Ending
from rerail.launch.errand import must_be_possible
from rerail.launch.family import alive_in_session, alive_with
from rerail.tape.plane_records import ActionReconciled, HoldReleased, TargetState
from rerail.tape.reader import Tape
from rerail.task import target as targets
from rerail.task.account import Account
from rerail.task.approval import user_name
from rerail.task.follow import FollowSettings, begin_tape, note_followed
from rerail.task.runner import read_contract
from rerail.task.stored import read_run
from rerail.task.target import ATTEMPT, Reach, Subject, secret_of
from rerail.task.verdict_plane import credential_environment

STATES_SAID: Final[Mapping[str, TargetState]] = {
    "applied": "applied",
    "not-applied": "not applied",
    "partly-applied": "partly applied",
    "unknown": "unknown",
}
"""What a person may say of an attempt, by the words of the command line."""

KNOWN: Final[tuple[TargetState, ...]] = ("applied", "not applied")
"""States after which nothing is under way any more: the task may run again."""


class Reconciled(Struct, frozen=True):
    """What an attempt did, as far as it is known now; `held`: its task stays held."""

    attempt: Attempt
    state: TargetState
    tape: Path
    held: bool


def reconcile(
    settings: FollowSettings, attempt: Attempt, *, said: TargetState | None = None, reason: str = ""
) -> Reconciled:
    """Find out what an attempt did: by the target's own command, or by what a person `said`."""
    must_be_possible()
    with Tape.open(settings.source) as tape, Holds.open(settings.environment) as holds:
        _must_be_over(tape, attempt)
        stored = read_run(tape)
        read = read_contract(settings.contract) if settings.contract else None
        contract = read.contract if read else stored.contract
        home = read.home if read else Path(attempt.folder)
        if contract.target is None or contract.target.name != attempt.target:
            raise UsageProblem(
                f"the contract does not name the target `{attempt.target}`",
                hint="name the contract by which it was applied",
            )
        secret = secret_of(contract.target, home, settings.environment)
        keeping = begin_tape(
            settings, ["rerail", "reconcile", attempt.id], home, f"run-{secrets.token_hex(6)}",
            contract, secret,
        )  # fmt: skip
        account = Account(keeping.recorder)
        note_followed(account, stored, "reconcile")
        state: TargetState = "unknown"
        try:
            given = credential_environment(contract, settings.environment)
            reach = Reach(contract.target, home, given)
            state = _found_out(account, reach, attempt, said, reason)
        finally:
            held = _settle(account, holds, attempt, state)
            kept = keeping.close(Ending(1 if held else 0), state)
        if kept.failed is not None:
            raise kept.failed
        return Reconciled(attempt, state, settings.tape, held)


def _must_be_over(tape: Tape, attempt: Attempt) -> None:
    """What is still under way may be done in a moment: no word on it holds yet, whoever says it.

    Raises UsageProblem.
    """
    # A runner may have died before it could say in which session its command runs.
    running = alive_in_session(attempt.session) or alive_with(ATTEMPT, attempt.id)
    if tape.state == "live" or running:
        who = f"process {running[0]}" if running else f"the run on {tape.path}"
        raise UsageProblem(
            f"{attempt.id} is still under way: {who}",
            hint="wait until it has ended, or end it; then what it did can be said",
        )


def _found_out(
    account: Account, reach: Reach, attempt: Attempt, said: TargetState | None, reason: str
) -> TargetState:
    subject = Subject(bytes.fromhex(attempt.proposal), attempt.id, attempt.approval_id)
    targets.read(account, reach, "reconcile", subject)
    if said is None:
        return targets.reconcile(account, reach, subject, "the target")
    account.note(
        ActionReconciled,
        "person",
        attempt_id=attempt.id,
        state=said,
        who=user_name(),
        how="person",
        reason=reason,
    )
    account.kept()
    return said


def _settle(account: Account, holds: Holds, attempt: Attempt, state: TargetState) -> bool:
    """Free the task where it is known that nothing is under way; returns whether it stays held."""
    if state == "unknown":
        return True
    free = state in KNOWN
    reason = f"reconciled: {state}"
    freed = holds.settle(attempt.id, state, reason=reason, by=user_name(), free=free)
    for hold in freed:
        account.note(HoldReleased, "person", hold_id=hold.id, reason=reason, who=user_name())
    return not free
