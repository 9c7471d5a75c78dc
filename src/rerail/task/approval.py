"""Asks whether exactly this proposal may be applied to exactly this target, and waits for a word.

The word comes from a policy file, from a person at the terminal, or by `rerail approve` from any
other process: it is put down in the user's state (`rerail.holds`), and read from there by all.
"""

import os
import pwd
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from rerail.clock import wall_ns
from rerail.errors import UsageProblem
from rerail.holds import Approval, Holds, WhyNot, new_id
from rerail.tape.plane_records import ApprovalDecided, ApprovalRequested, ApprovalUnusable
from rerail.task.account import Account
from rerail.task.contract import Contract, digest_of, seconds
from rerail.task.policy import Policy, parse_policy
from rerail.task.programs import in_json, programs_of
from rerail.task.trees import Proposed, in_words

LOOKED_FOR_SECONDS: Final = 0.25
"""How often it is looked whether somebody has decided."""


class Question(Struct, frozen=True):
    """What is asked: the contract with its folder, the proposal, of which run, on which tape."""

    contract: Contract
    home: Path
    proposed: Proposed
    run_id: str
    tape: Path

    @property
    def target(self) -> str:
        """The target's name."""
        assert self.contract.target is not None
        return self.contract.target.name


class Person(Protocol):
    """Whoever sits at the terminal, if anybody does."""

    def asked(self, approval: Approval) -> None:
        """Show what is asked, and how else it can be decided."""

    def word(self, seconds: float, *, heard: bool) -> bool | None:
        """Wait so long for a word: yes, no, or none; not `heard`: of who may not decide."""


def user_name() -> str:
    """Who runs this process, by the system's own account of users."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def may_decide(approval: Approval) -> bool:
    """Whether the user who runs this process may."""
    return not approval.deciders or user_name() in approval.deciders


def ask(account: Account, holds: Holds, question: Question, person: Person | None) -> Approval:
    """Ask and wait until it is decided or too late; returns what became of it.

    Without a `person` it is left waiting where no policy decides.
    """
    approval = _put(account, holds, question)
    policy = _by_policy(holds, question, approval)
    if not policy and person is not None:
        _wait(holds, approval, person)
    decided = holds.approval(approval.id)
    assert decided is not None
    if decided.state in ("granted", "refused") and holds.is_own(decided):
        note_decision(account, decided, policy)
    return decided


def note_decision(account: Account, approval: Approval, policy: bytes = b"") -> None:
    """Put down how somebody decided; `policy` is the file by which it was, where one was."""
    how = approval.how if approval.how in ("terminal", "command", "policy") else "command"
    account.note(
        ApprovalDecided,
        "approver" if how == "policy" else "person",
        approval_id=approval.id,
        decision="granted" if approval.state != "refused" else "refused",
        proposal_ref=bytes.fromhex(approval.proposal),
        target=approval.target,
        expires=approval.expires,
        who=approval.decided_by,
        how=how,
        reason=approval.reason,
        evidence=account.document(policy) if policy else None,
    )
    account.kept()


def note_unusable(
    account: Account,
    approval_id: str,
    proposal_ref: bytes,
    target: str,
    why: WhyNot,
    detail: str = "",
) -> None:
    """Put down that an approval was held out and does not hold."""
    account.note(
        ApprovalUnusable,
        "applier",
        approval_id=approval_id,
        proposal_ref=proposal_ref,
        target=target,
        why=why,
        detail=detail,
    )
    account.kept()


def decide(holds: Holds, approval: Approval, *, grant: bool, how: str, reason: str) -> None:
    """Decide as the user who runs this process. Raises UsageProblem where that is not possible."""
    who = user_name()
    if not may_decide(approval):
        raise UsageProblem(
            f"{who} may not decide on {approval.id}",
            hint=f"the contract names {', '.join(approval.deciders)}",
        )
    if approval.expires <= wall_ns():
        raise UsageProblem(
            f"{approval.id} has expired", hint="run the task again: the proposal is asked for anew"
        )
    decided = holds.decide(approval.id, grant=grant, by=who, how=how, reason=reason)
    if not decided and not grant and how == "command":
        # Not at the terminal: whoever says no there has not heard that it is granted.
        decided = holds.take_back(approval.id, by=who, how=how, reason=reason)
    if not decided:
        found = holds.approval(approval.id) or approval
        raise UsageProblem(
            f"{approval.id} is {found.state} already", hint="`rerail approve` lists what waits"
        )


def read_policy(contract: Contract, home: Path) -> tuple[bytes, Policy] | None:
    """The contract's policy as it is now, if it names one. Raises UsageProblem."""
    name = contract.approval.policy
    if not name:
        return None
    try:
        content = (home / name).read_bytes()
    except OSError as error:
        raise UsageProblem(
            f"the policy `{name}` cannot be read: {error.strerror}",
            hint="see `approval.policy` in the contract",
        ) from error
    return content, parse_policy(content, name)


def _put(account: Account, holds: Holds, question: Question) -> Approval:
    terms = question.contract.approval
    programs = programs_of(question.contract, question.home)
    approval = Approval(
        id=new_id("A"),
        run_id=question.run_id,
        task_id=question.contract.task,
        tape=str(question.tape.absolute()),
        proposal=question.proposed.ref.hex(),
        target=question.target,
        summary=in_words(question.proposed),
        expires=wall_ns() + int(seconds(terms.ttl) * 1e9),
        who="\n".join(terms.by),
        contract=digest_of(question.contract),
        programs=in_json(programs),
    )
    account.note(
        ApprovalRequested,
        "approver",
        approval_id=approval.id,
        proposal_ref=question.proposed.ref,
        target=approval.target,
        expires=approval.expires,
        who=list(terms.by),
        programs=programs,
    )
    account.kept()
    holds.ask(approval)
    return approval


def _by_policy(holds: Holds, question: Question, approval: Approval) -> bytes:
    """Have the contract's policy decide; returns its file where it granted."""
    read = read_policy(question.contract, question.home)
    if read is None:
        return b""
    content, policy = read
    made = question.proposed.made
    if not policy.grants_it(made, target=approval.target, task=approval.task_id):
        return b""
    granted = holds.decide(approval.id, grant=True, by=policy.title, how="policy", reason="")
    return content if granted else b""


def _wait(holds: Holds, approval: Approval, person: Person) -> None:
    person.asked(approval)
    while approval.expires > wall_ns():
        found = holds.approval(approval.id)
        if found is None or found.state != "waiting":
            return
        left = (approval.expires - wall_ns()) / 1e9
        word = person.word(min(LOOKED_FOR_SECONDS, max(left, 0)), heard=may_decide(approval))
        if word is not None:
            # Somebody else may have been faster, or the time is over: look again what holds.
            with suppress(UsageProblem):
                decide(holds, approval, grant=word, how="terminal", reason="")
