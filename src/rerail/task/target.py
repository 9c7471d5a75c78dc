"""The target: applied to, read by a path of its own, asked afterwards what an attempt did.

Only here are commands given the target's credential. Whether an action had an effect is said by the
target, not by how a command ended: what is not said is unknown.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from rerail.errors import RerailError, UsageProblem
from rerail.launch.errand import Errand, run_errand
from rerail.tape.plane_records import (
    ActionOutcome,
    ActionReconciled,
    ActionResult,
    TargetRead,
    TargetState,
)
from rerail.task.account import Account
from rerail.task.contract import Reading, Target, seconds, words

CREDENTIAL: Final = "RERAIL_CREDENTIAL_FILE"
"""Where a target's command finds a credential that is a file."""

ATTEMPT: Final = "RERAIL_ATTEMPT_ID"
"""Where it finds the attempt, by which the target may know it again."""

Moment = Literal["before", "after", "reconcile", "later"]


class Subject(Struct, frozen=True):
    """What a target's command is told: the proposal, where it is laid out, and the attempt."""

    proposal_ref: bytes
    attempt_id: str = ""
    approval_id: str = ""
    folder: Path | None = None


class _Answer(Struct, frozen=True):
    """What a reconcile command prints."""

    state: TargetState
    reason: str = ""


class Reach:
    """How the target's commands are run: where, and with the environment that opens it.

    Raises UsageProblem where the credential is not there.
    """

    def __init__(self, target: Target, home: Path, environment: Mapping[str, str]) -> None:
        self.target = target
        self._home = home
        self._environment = dict(environment)
        self._environment["RERAIL_TARGET"] = target.name
        if target.credential.file:
            self._environment[CREDENTIAL] = str(credential_file(target, home))

    def run(
        self,
        command: list[str],
        time: str,
        subject: Subject,
        on_start: Callable[[int], None] | None = None,
    ) -> Errand:
        """Run one of the target's commands. Raises RerailError where it could not be started."""
        told = {
            "RERAIL_PROPOSAL_REF": f"sha256:{subject.proposal_ref.hex()}",
            ATTEMPT: subject.attempt_id,
            "RERAIL_APPROVAL_ID": subject.approval_id,
            "RERAIL_PROPOSAL": str(subject.folder or ""),
        }
        return run_errand(
            words(command, str(self._home)),
            cwd=self._home,
            environment=self._environment | told,
            seconds=seconds(time),
            on_start=on_start,
            alone=True,
        )

    def argv(self, command: list[str]) -> list[str]:
        """A command as it stands on the tape."""
        return words(command, str(self._home))


def credential_file(target: Target, home: Path) -> Path:
    """The file that opens the target, by the contract."""
    return (home / Path(target.credential.file).expanduser()).absolute()


def secret_of(target: Target, home: Path, environment: Mapping[str, str]) -> str:
    """The credential itself, so that it is known wherever it might be written.

    Raises UsageProblem where it is not there.
    """
    credential = target.credential
    if credential.env:
        if not environment.get(credential.env):
            raise UsageProblem(
                f"the variable `{credential.env}`, which opens the target, is not set",
                hint="set it for `rerail run`; the agent does not see it",
            )
        return environment[credential.env]
    if not credential.file:
        return ""
    try:
        return credential_file(target, home).read_text("utf-8", "replace").strip()
    except OSError as error:
        raise UsageProblem(
            f"the credential of the target cannot be read: {error.strerror}: {error.filename}",
            hint="see `target.credential` in the contract",
        ) from error


def read(account: Account, reach: Reach, moment: Moment, subject: Subject) -> bool:
    """Read the target and put down what it says; False where it could not be read."""
    reading = reach.target.read
    done, problem = _tried(reach, reading, subject)
    account.note(
        TargetRead,
        "target",
        target=reach.target.name,
        moment=moment,
        argv=reach.argv(reading.command),
        attempt_id=subject.attempt_id,
        content=account.said(done.output) if done.well else None,
        errors=account.said(done.errors if done.well else done.errors or done.output),
        problem=problem,
        **account.outcome(done),
    )
    account.kept()
    return not problem


def result(account: Account, reach: Reach, subject: Subject, done: Errand) -> ActionOutcome:
    """Put down what came back from the action, and what that says."""
    outcome, reason = outcome_of(done, reach.target.apply.rejects)
    account.note(
        ActionResult,
        "applier",
        attempt_id=subject.attempt_id,
        outcome=outcome,
        output=account.said(done.output),
        errors=account.said(done.errors),
        reason=reason,
        **account.outcome(done),
    )
    account.kept()
    return outcome


def result_unseen(account: Account, subject: Subject, outcome: ActionOutcome, reason: str) -> None:
    """Put down that no reply was seen, and what follows from that."""
    account.note(
        ActionResult,
        "applier",
        attempt_id=subject.attempt_id,
        outcome=outcome,
        reason=reason,
    )
    account.kept()


def outcome_of(done: Errand, rejects: list[int]) -> tuple[ActionOutcome, str]:
    """What the end of an action's command says about the target."""
    if done.timed_out:
        return "unknown", "no reply within the time limit: it may have been carried out"
    if done.signal:
        return "unknown", f"the command was ended by signal {done.signal}"
    if done.status == 0:
        return "accepted", ""
    if done.status in rejects:
        return "rejected", f"status {done.status}: the target did nothing"
    return "unknown", f"status {done.status} does not say whether it was carried out"


def reconcile(account: Account, reach: Reach, subject: Subject, by: str) -> TargetState:
    """Ask the target's own command what an attempt did. Raises UsageProblem where there is none."""
    asking = reach.target.reconcile
    if asking is None:
        raise UsageProblem(
            f"the contract names no command that reconciles `{reach.target.name}`",
            hint="look at the target, then say what you found with `--state` and `--reason`",
        )
    done, problem = _tried(reach, asking, subject)
    answer = _answer(done)
    state: TargetState = answer.state if answer else "unknown"
    reason = answer.reason if answer else problem or "its output is no answer"
    account.note(
        ActionReconciled,
        "target",
        attempt_id=subject.attempt_id,
        state=state,
        who=by,
        how="command",
        status=done.status,
        output=account.said(done.output),
        errors=account.said(done.errors),
        reason=reason,
    )
    account.kept()
    return state


def _answer(done: Errand) -> _Answer | None:
    if not done.well:
        return None
    try:
        return msgspec.json.decode(done.output, type=_Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _tried(reach: Reach, reading: Reading, subject: Subject) -> tuple[Errand, str]:
    try:
        done = reach.run(reading.command, reading.time, subject)
    except RerailError as error:
        return Errand(127), error.what
    if done.timed_out:
        return done, "it timed out"
    return done, "" if done.well else f"it ended with status {done.status}"
