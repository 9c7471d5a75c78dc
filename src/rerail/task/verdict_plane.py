"""The verdict plane: checks a proposal, judges it, asks, applies it once, reads the target.

It is given a proposal that stands on the tape, and neither the agent nor its folder. Every step is
on the disk before the next one begins.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from rerail.clock import wall_ns
from rerail.errors import RerailError
from rerail.holds import (
    Attempt,
    AttemptState,
    Holds,
    StateUnusable,
    TaskHeld,
    WhyNot,
    new_id,
)
from rerail.sandbox.plane import Plane
from rerail.tape.plane_records import (
    ActionAttempted,
    ApprovalConsumed,
    ApprovalWithdrawn,
    HoldMet,
    HoldPlaced,
    HoldReleased,
    TaskState,
    VerdictEmitted,
)
from rerail.tape.reader import Tape
from rerail.task import target as targets
from rerail.task.account import Account
from rerail.task.approval import Person, Question, ask, note_decision, note_unusable, user_name
from rerail.task.checker import Bench, check
from rerail.task.contract import Contract, digest_of
from rerail.task.place import Place
from rerail.task.programs import in_json, others, programs_of
from rerail.task.target import Reach, Subject
from rerail.task.trees import Proposed, make
from rerail.task.verdict import Judged, judge

UNDER_WAY: Final = "attempt {} was sent, and how it ended is not known yet"
KEPT: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "SSL_CERT_FILE")
"""The variables that every command of the planes is given, as far as they are set."""


class Ended(Struct, frozen=True):
    """How the run ended, in the runner's own words."""

    state: TaskState
    reason: str = ""


class Desk(Struct, frozen=True, kw_only=True):
    """What the verdict plane works with. `hidden` is what a checker may not read."""

    account: Account
    holds: Holds
    contract: Contract
    home: Path
    environment: Mapping[str, str]
    place: Place
    tape: Path
    run_id: str
    baseline: bytes
    hidden: list[Path]
    shown: list[Path]
    person: Person | None = None


def plain(environment: Mapping[str, str]) -> dict[str, str]:
    """The few variables that every command is given."""
    return {name: environment[name] for name in KEPT if name in environment}


def judge_proposal(desk: Desk, proposed: Proposed, *, run_checks: bool = True) -> Judged:
    """Check a proposal and put down what follows from the checks."""
    facts = []
    if run_checks and proposed.made.changes and not proposed.leaving:
        desk.account.kept()
        with Tape.open(desk.tape) as tape:
            facts = check(desk.account, _bench(desk), proposed, tape.blob_stream)
    judged = judge(
        facts,
        proposal_ref=proposed.ref,
        changes=len(proposed.made.changes),
        leaving=proposed.leaving,
    )
    desk.account.note(
        VerdictEmitted,
        "verdict",
        verdict=judged.verdict,
        rule=judged.rule,
        proposal_ref=proposed.ref,
        detail=judged.detail,
        checks=list(judged.checks),
    )
    desk.account.kept()
    return judged


def apply_proposal(desk: Desk, proposed: Proposed, *, by: str = "") -> Ended:
    """Ask for an approval, or take the one named `by`, and apply the proposal once."""
    assert desk.contract.target is not None
    if not by:
        question = Question(desk.contract, desk.home, proposed, desk.run_id, desk.tape)
        approval = ask(desk.account, desk.holds, question, desk.person)
        if approval.state == "waiting" and approval.expires > wall_ns():
            return Ended("waiting", f"{approval.id} waits for `rerail approve`")
        if approval.state == "refused" and desk.holds.is_own(approval):
            return Ended("refused", f"{approval.id} was refused by {approval.decided_by}")
        by = approval.id
    elif (found := desk.holds.approval(by)) and found.decided_by and desk.holds.is_own(found):
        note_decision(desk.account, found)
    return _Applying(desk, proposed, by).go()


class _Applying:
    """One use of one approval."""

    def __init__(self, desk: Desk, proposed: Proposed, approval_id: str) -> None:
        assert desk.contract.target is not None
        self._desk = desk
        self._account = desk.account
        self._proposed = proposed
        self._approval = approval_id
        self._target = desk.contract.target
        self._attempt = new_id("T")
        self._sent = False
        given = credential_environment(desk.contract, desk.environment)
        self._reach = Reach(self._target, desk.home, given)

    def go(self) -> Ended:
        why = self._desk.holds.why_not(
            self._approval,
            proposal=self._proposed.ref.hex(),
            target=self._target.name,
            now=wall_ns(),
            contract=digest_of(self._desk.contract),
            programs=in_json(programs_of(self._desk.contract, self._desk.home)),
        )
        if why is not None:
            return self._unusable(why)
        folder = self._laid_out()
        subject = Subject(self._proposed.ref, self._attempt, self._approval, folder)
        if not targets.read(self._account, self._reach, "before", subject):
            return Ended("refused", "the target cannot be read: nothing was sent to it")
        refused = self._begin()
        if refused is not None:
            return refused
        ended = self._act(subject)
        targets.read(self._account, self._reach, "after", subject)
        return ended

    def _laid_out(self) -> Path:
        """The proposal in a folder, and its paths in a list, for the target's command."""
        place = self._desk.place.own("apply")
        folder = place / "proposal"
        folder.mkdir(mode=0o700)
        with Tape.open(self._desk.tape) as tape:
            make(self._proposed.after.tree, folder, tape.blob_stream)
        changes = [
            {"path": change.path.decode("utf-8", "surrogateescape"), "removed": not change.mode}
            for change in self._proposed.made.changes
        ]
        (place / "changes.json").write_text(json.dumps(changes), "utf-8", "surrogateescape")
        return folder

    def _begin(self) -> Ended | None:
        """Use the approval up and hold the task; then, and only then, say so on the tape."""
        attempt = Attempt(
            id=self._attempt,
            run_id=self._desk.run_id,
            task_id=self._desk.contract.task,
            tape=str(self._desk.tape.absolute()),
            folder=str(self._desk.home),
            target=self._target.name,
            proposal=self._proposed.ref.hex(),
            approval_id=self._approval,
            begun=wall_ns(),
        )
        reason = UNDER_WAY.format(self._attempt)
        try:
            begun = self._desk.holds.begin(attempt, reason=reason, by="rerail run")
        except TaskHeld as held:
            self._account.note(HoldMet, "runner", hold_id="", reason=held.what)
            return Ended("refused", held.what)
        if isinstance(begun, str):
            return self._unusable(begun)
        try:
            self._say_begun(begun.id, reason)
        except RerailError:
            # Nothing was sent: the tape cannot say that it was, so it must not be.
            self._settled("not applied", "the tape could not be written")
            raise
        return None

    def _say_begun(self, hold_id: str, reason: str) -> None:
        self._account.note(
            ApprovalConsumed, "applier", approval_id=self._approval, attempt_id=self._attempt
        )
        self._account.note(
            HoldPlaced,
            "runner",
            hold_id=hold_id,
            run_id=self._desk.run_id,
            task_id=self._desk.contract.task,
            reason=reason,
            who="rerail run",
        )
        self._account.note(
            ActionAttempted,
            "applier",
            attempt_id=self._attempt,
            approval_id=self._approval,
            proposal_ref=self._proposed.ref,
            target=self._target.name,
            argv=self._reach.argv(self._target.apply.command),
        )
        self._account.kept()

    def _act(self, subject: Subject) -> Ended:
        try:
            apply = self._target.apply
            done = self._reach.run(apply.command, apply.time, subject, self._started)
        except RerailError as error:
            if self._sent:
                return self._cut_off(subject, error)
            reason = f"it could not be started: {error.what}"
            targets.result_unseen(self._account, subject, "rejected", reason)
            self._settled("not applied", reason)
            return Ended("rejected", reason)
        except BaseException as error:
            reason = f"the runner was interrupted ({type(error).__name__}) while it was under way"
            targets.result_unseen(self._account, subject, "unknown", reason)
            raise
        outcome = targets.result(self._account, self._reach, subject, done)
        if outcome == "unknown":
            return self._unresolved()
        self._settled(outcome, f"the target {outcome} it")
        return Ended("applied" if outcome == "accepted" else "rejected")

    def _cut_off(self, subject: Subject, error: RerailError) -> Ended:
        """Its command ran already: what it did by then, nobody has said."""
        reason = f"it was ended while it was under way: {error.what}"
        targets.result_unseen(self._account, subject, "unknown", reason)
        return self._unresolved()

    def _unresolved(self) -> Ended:
        hint = f"`rerail reconcile {self._attempt}` finds out"
        return Ended("unresolved", f"whether it was applied is not known: {hint}")

    def _started(self, session: int) -> None:
        self._sent = True
        self._desk.holds.started(self._attempt, session)

    def _settled(self, state: AttemptState, reason: str) -> None:
        freed = self._desk.holds.settle(
            self._attempt, state, reason=reason, by="rerail run", free=True
        )
        for hold in freed:
            self._account.note(
                HoldReleased, "runner", hold_id=hold.id, reason=reason, who=user_name()
            )

    def _unusable(self, why: WhyNot) -> Ended:
        ref, detail = self._proposed.ref, self._detail(why)
        note_unusable(self._account, self._approval, ref, self._target.name, why, detail)
        more = f", {detail}" if detail else ""
        return Ended("refused", f"the approval {self._approval} does not hold: {why}{more}")

    def _detail(self, why: WhyNot) -> str:
        if why == "not yours":
            return "it is not as you granted it on this machine"
        approval = self._desk.holds.approval(self._approval)
        if why != "other programs" or approval is None:
            return ""
        now = programs_of(self._desk.contract, self._desk.home)
        names = ", ".join(others(approval.programs, now))
        return f"{names} changed since it was asked for"


def _bench(desk: Desk) -> Bench:
    baseline = desk.place.own("baseline") / Path(desk.contract.baseline.path).name
    baseline.write_bytes(desk.baseline)
    told = {"RERAIL_TASK_ID": desk.contract.task, "RERAIL_RUN_ID": desk.run_id}

    def plane(place: Path) -> Plane:
        shown = [desk.home, *desk.shown, baseline.parent]
        network = desk.contract.checker.network
        return Plane(writable=[place], hidden=desk.hidden, shown=shown, network=network)

    return Bench(
        contract=desk.contract,
        home=desk.home,
        baseline=baseline,
        baseline_digest=sha256(desk.baseline).digest(),
        folder=desk.place.own,
        plane=plane,
        environment=plain(desk.environment) | told,
    )


def credential_environment(contract: Contract, environment: Mapping[str, str]) -> dict[str, str]:
    """What the target's commands are given, the credential with it where it is a variable."""
    name = contract.target.credential.env if contract.target is not None else ""
    given = plain(environment) | {"HOME": environment.get("HOME", "")}
    return given | ({name: environment[name]} if name else {})


def cut_short(holds: Holds, run_id: str, error: BaseException) -> Ended:
    """How a run ends that did not come to its end: an action that was sent has one of its own."""
    what = error.what if isinstance(error, RerailError) else type(error).__name__
    try:
        attempts = holds.attempts()
        under_way = any(found.run_id == run_id and found.state == "open" for found in attempts)
    except RerailError:
        under_way = True  # nobody can say that there is none
    return Ended("unresolved" if under_way else "stopped", f"the runner failed: {what}")


def withdraw_unused(account: Account, holds: Holds, run_id: str) -> None:
    """At the end of a run, approvals of it that were not used are worth nothing; it is put down.

    Where that cannot be done, they run out by themselves: a run comes to its end all the same.
    """
    with suppress(StateUnusable):
        for found in holds.approvals():
            if found.run_id != run_id or found.state not in ("granted", "waiting"):
                continue
            if holds.withdraw(found.id):
                account.note(ApprovalWithdrawn, "runner", approval_id=found.id)
