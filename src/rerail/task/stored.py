"""What a run left on its tape, read again: contract, proposal, verdict. Starts nothing."""

from pathlib import Path

from msgspec import Struct

from rerail.errors import NotOnTape, TapeAltered
from rerail.tape.links import new_ways_out
from rerail.tape.plane_records import (
    BaselineLoaded,
    CheckEnded,
    CheckResult,
    CheckStarted,
    ProposalMade,
    TaskAccepted,
    VerdictEmitted,
)
from rerail.tape.reader import Tape
from rerail.tape.trees import Tree, decode_tree
from rerail.task.contract import Contract, parse
from rerail.task.verdict import Fact, Judged, judge


class Stored(Struct, frozen=True):
    """A run in two planes as its tape tells it; the last proposal and verdict, if there are any.

    `judged` is the verdict worked out again from the recorded checks, `baseline` the digest of what
    they measured against.
    """

    path: Path
    tape_id: str
    run_id: str
    accepted: TaskAccepted
    contract: Contract
    made: ProposalMade | None
    verdict: VerdictEmitted | None
    judged: Judged | None
    baseline: bytes = b""

    @property
    def passed(self) -> bool:
        """Whether the verdict on the proposal is PASS, and follows from the checks."""
        return (
            self.verdict is not None
            and self.made is not None
            and self.judged is not None
            and self.verdict.verdict == self.judged.verdict == "PASS"
            and self.verdict.proposal_ref == self.made.proposal_ref
        )


def read_run(tape: Tape) -> Stored:
    """Read a run. Raises NotOnTape where it was no run of `rerail run`."""
    accepted = made = verdict = None
    facts: list[Fact] = []
    for event in tape.events():
        match event:
            case CheckStarted() | CheckEnded() | CheckResult() | BaselineLoaded():
                facts.append(event)
            case TaskAccepted():
                accepted = accepted or event
            case ProposalMade():
                made = event
            case VerdictEmitted():
                verdict = event
    if accepted is None:
        raise NotOnTape(
            f"{tape.path} is no run of a task: there is no contract on it",
            hint="`rerail run` makes such tapes",
        )
    loaded = (fact for fact in facts if isinstance(fact, BaselineLoaded) and not fact.reported)
    measure = next((fact.content for fact in loaded), None)
    contract = parse(tape.blob(accepted.contract.digest), accepted.source or "the contract")
    judged = None
    if made is not None:
        changes = made.added + made.changed + made.removed
        leaving = new_ways_out(*trees_on(tape, made))
        judged = judge(facts, proposal_ref=made.proposal_ref, changes=changes, leaving=leaving)
    return Stored(
        tape.path,
        tape.id,
        tape.run.run_id,
        accepted,
        contract,
        made,
        verdict,
        judged,
        measure.digest if measure else b"",
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
        hint = f"see what is wrong with `rerail verify {tape.path}`"
        raise TapeAltered(f"{tape.path}: {error}", hint=hint) from error
