"""What a run left on its tape, read again: contract, proposal, verdict, open attempts.

Reads tapes and starts nothing. A case is a folder whose `tape` is asked for by who knows cases.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from rerail.errors import NotOnTape, TapeAltered
from rerail.tape.event import Event
from rerail.tape.plane_records import (
    ActionAttempted,
    ActionReconciled,
    ActionResult,
    BaselineLoaded,
    ProposalMade,
    TaskAccepted,
    VerdictEmitted,
)
from rerail.tape.proposals import Proposal, decode_proposal
from rerail.tape.reader import Tape
from rerail.tape.trees import Tree, decode_tree
from rerail.task.contract import Contract, parse

PLANES = (
    ActionAttempted, ActionReconciled, ActionResult, BaselineLoaded, ProposalMade, TaskAccepted,
    VerdictEmitted,
)  # fmt: skip


class Stored(Struct, frozen=True):
    """A run in two planes as its tape tells it: ids, contract, the last proposal and verdict."""

    path: Path
    tape_id: str
    run_id: str
    accepted: TaskAccepted
    contract: Contract
    contract_content: bytes
    made: ProposalMade | None
    verdict: VerdictEmitted | None
    events: Sequence[Event]


def read_run(tape: Tape) -> Stored:
    """Read a run. Raises NotOnTape where it was no run of `rerail run`."""
    events = [event for event in tape.events() if isinstance(event, PLANES)]
    accepted = next((event for event in events if isinstance(event, TaskAccepted)), None)
    if accepted is None:
        raise NotOnTape(
            f"{tape.path} is no run of a task: there is no contract on it",
            hint="`rerail run` makes such tapes",
        )
    content = tape.blob(accepted.contract.digest)
    proposals = [event for event in events if isinstance(event, ProposalMade)]
    verdicts = [event for event in events if isinstance(event, VerdictEmitted)]
    return Stored(
        tape.path,
        tape.id,
        tape.run.run_id,
        accepted,
        parse(content, accepted.source or "the contract"),
        content,
        proposals[-1] if proposals else None,
        verdicts[-1] if verdicts else None,
        events,
    )


def made_on(stored: Stored) -> ProposalMade:
    """The proposal. Raises NotOnTape."""
    if stored.made is None:
        raise NotOnTape(
            f"there is no proposal on {stored.path}", hint="the agent had not ended by then"
        )
    return stored.made


def trees_on(tape: Tape, made: ProposalMade) -> tuple[Tree, Tree]:
    """The trees before and after. Raises TapeAltered."""
    try:
        return decode_tree(tape.blob(made.base)), decode_tree(tape.blob(made.tree))
    except ValueError as error:
        raise TapeAltered(f"{tape.path}: {error}", hint="see `rerail verify`") from error


def proposal_on(tape: Tape, made: ProposalMade) -> Proposal:
    """The proposal itself. Raises TapeAltered."""
    try:
        return decode_proposal(tape.blob(made.proposal_ref))
    except ValueError as error:
        raise TapeAltered(f"{tape.path}: {error}", hint="see `rerail verify`") from error
