"""The facts of a run in two planes: contract, proposal, checks, verdict, approval, action, target.

The agent's plane ends in a proposal; the verdict plane checks it, asks, applies it, and reads the
target. Knows no storage, process or clock. Versions are text, as whoever named them wrote them.

`proposal_ref` is the SHA-256 of a proposal (`rerail.tape.proposals`), the same on every event that
is about it. An `attempt_id` names one time that an action was sent to a target.
"""

from typing import Literal

from rerail.tape.event import Body, Event, NotCaptured

BudgetName = Literal["turns", "tokens", "seconds"]
Outcome = Literal["passed", "failed", "error", "skipped"]
Verdict = Literal["PASS", "STOP"]
ActionOutcome = Literal["accepted", "rejected", "unknown"]
TargetState = Literal["applied", "not applied", "partly applied", "unknown"]
TaskState = Literal[
    "not started",  # the baseline, an input or the containment was not as the contract says
    "stopped",  # the verdict was STOP, or there is nothing to check
    "waiting",  # PASS, and nobody has granted an approval yet
    "refused",  # the approval was refused, has expired, or does not fit
    "rejected",  # the target said no
    "applied",  # the target said yes
    "unresolved",  # an action was sent, and how it ended is not known
    "checked",  # PASS, and the contract names no target
]


class TaskAccepted(Event, frozen=True, kw_only=True, tag="task.accepted"):
    """The runner took a contract: what the run is to do, and within what bounds.

    `contract` is the file as it was, `source` the name it was read from. `number` counts the runs
    of one `rerail run`: above 1 it is a retry.
    """

    task_id: str
    version: str
    contract: Body
    source: str = ""
    number: int = 1


class TaskFollows(Event, frozen=True, kw_only=True, tag="task.follows"):
    """This tape goes on with what another one left: its run, its tape's id, and with what."""

    run_id: str
    tape_id: str
    relation: Literal["retry", "recheck", "reconcile", "apply"]


class ObservationRead(Event, frozen=True, kw_only=True, tag="observation.read"):
    """The sensor read an input that the contract names; the agent finds it at `path`.

    `version` is what was read, `wanted_version` and `wanted_digest` what the contract names, each
    empty where nobody says. `problem` says why it could not be had.
    """

    name: str
    version: str = ""
    wanted_version: str = ""
    wanted_digest: bytes = b""
    content: Body | None = None
    source: str = ""
    path: str = ""
    problem: str = ""


class BaselineLoaded(Event, frozen=True, kw_only=True, tag="baseline.loaded"):
    """What the proposal is checked against was loaded, or could not be.

    The sensor loads it before anything starts, by the contract. `reported`: the checker says, in
    the result of check `check_id`, that this is what it went by; then `content` is absent, and
    `digest` is there only where the checker told it.
    """

    name: str
    version: str = ""
    digest: bytes = b""
    content: Body | None = None
    wanted_version: str = ""
    wanted_digest: bytes = b""
    source: str = ""
    reported: bool = False
    check_id: int = 0
    problem: str = ""


class ScratchMade(Event, frozen=True, kw_only=True, tag="scratch.made"):
    """The agent's workspace was made: a copy of `source`, in a folder of the run's own.

    `base` is the digest of its tree as a proposal counts it: without times.
    """

    folder: str
    source: str
    base: bytes
    base_size: int
    files: int = 0
    size: int = 0
    left_out: list[NotCaptured] = []


class AgentContained(Event, frozen=True, kw_only=True, tag="agent.contained"):
    """What keeps the agent's plane to itself: layers that hold, and those that are lacking, why.

    `hidden` are the places it cannot read, `writable` those it can write.
    """

    layers: list[str]
    lacking: dict[str, str] = {}
    hidden: list[str] = []
    writable: list[str] = []


class BudgetChanged(Event, frozen=True, kw_only=True, tag="budget.changed"):
    """What the agent has used of a budget. `spent`: it is used up, and the agent was ended."""

    budget: BudgetName
    limit: int
    used: int
    spent: bool = False


class ProposalMade(Event, frozen=True, kw_only=True, tag="proposal.made"):
    """What the agent leaves behind: a change of its workspace, content-addressed.

    `base` and `tree` are the trees before and after, without times. `left_out` is in the workspace
    and is no part of the proposal.
    """

    proposal_ref: bytes
    size: int
    base: bytes
    base_size: int
    tree: bytes
    tree_size: int
    added: int = 0
    changed: int = 0
    removed: int = 0
    left_out: list[NotCaptured] = []


class CheckStarted(Event, frozen=True, kw_only=True, tag="check.started"):
    """The checker was started on a folder made from the proposal.

    `read_ref` is the proposal as it was found in that folder just before: equal to `proposal_ref`
    unless something came between. `version` is the contract's word for the checker.
    """

    check_id: int
    proposal_ref: bytes
    read_ref: bytes
    argv: list[str]
    version: str = ""
    folder: str = ""


class CheckEnded(Event, frozen=True, kw_only=True, tag="check.ended"):
    """The checker has ended: its raw evidence. `problem` says why its results cannot be read.

    `reported_ref` is the proposal that the checker says it read, where it says so. `left` are the
    commands that it had left running; they were ended.
    """

    check_id: int
    status: int
    signal: int = 0
    timed_out: bool = False
    output: Body | None = None
    errors: Body | None = None
    reported_ref: bytes = b""
    problem: str = ""
    left: list[str] = []


class CheckResult(Event, frozen=True, kw_only=True, tag="check.result"):
    """One case of a check, as the checker reports it. `protected`: no change may break it.

    `tests` is what it tests: the id of a constraint of the contract, or the name of an input.
    """

    check_id: int
    name: str
    outcome: Outcome
    protected: bool = False
    detail: str = ""
    tests: str = ""


class VerdictEmitted(Event, frozen=True, kw_only=True, tag="verdict.emitted"):
    """What follows from the checks. `rule` names the rule that decided, `checks` are its checks."""

    verdict: Verdict
    rule: str
    proposal_ref: bytes
    detail: str = ""
    checks: list[int] = []


class ApprovalRequested(Event, frozen=True, kw_only=True, tag="approval.requested"):
    """Somebody is asked: may exactly this proposal be applied to exactly this target?

    `who` may decide. `expires` is nanoseconds since 1970, from when a grant is worth nothing.
    `programs` are the files that the contract's commands name, by path, with their SHA-256: a grant
    is for these.
    """

    approval_id: str
    proposal_ref: bytes
    target: str
    expires: int
    who: list[str] = []
    programs: dict[str, str] = {}


class ApprovalDecided(Event, frozen=True, kw_only=True, tag="approval.decided"):
    """Granted or refused, by whom and how. The scope is repeated: it is what was decided on.

    `evidence` is the policy's file, where a policy decided.
    """

    approval_id: str
    decision: Literal["granted", "refused"]
    proposal_ref: bytes
    target: str
    expires: int
    who: str
    how: Literal["terminal", "command", "policy"]
    uses: int = 1
    reason: str = ""
    evidence: Body | None = None


class ApprovalConsumed(Event, frozen=True, kw_only=True, tag="approval.consumed"):
    """The approval was used, by this attempt; it cannot be used again."""

    approval_id: str
    attempt_id: str


class ApprovalUnusable(Event, frozen=True, kw_only=True, tag="approval.unusable"):
    """An approval was held out and does not hold: nothing is applied by it."""

    approval_id: str
    proposal_ref: bytes
    target: str
    why: Literal[
        "expired",
        "used",
        "other proposal",
        "other target",
        "other contract",
        "other programs",
        "not granted",
        "not yours",
        "unknown",
    ]
    detail: str = ""


class ApprovalWithdrawn(Event, frozen=True, kw_only=True, tag="approval.withdrawn"):
    """The run has ended without using it: it is worth nothing any more, granted or not."""

    approval_id: str


class ActionAttempted(Event, frozen=True, kw_only=True, tag="action.attempted"):
    """The applier is about to send the action. Without its result, the outcome is unknown."""

    attempt_id: str
    approval_id: str
    proposal_ref: bytes
    target: str
    argv: list[str]


class ActionResult(Event, frozen=True, kw_only=True, tag="action.result"):
    """What came back. `unknown`: it was sent, and the reply does not say what it did."""

    attempt_id: str
    outcome: ActionOutcome
    status: int = 0
    signal: int = 0
    timed_out: bool = False
    output: Body | None = None
    errors: Body | None = None
    reason: str = ""


class TargetRead(Event, frozen=True, kw_only=True, tag="target.read"):
    """The target's state, read by a path of its own: not through what acted on it.

    `problem` says why it could not be read.
    """

    target: str
    moment: Literal["before", "after", "reconcile", "later"]
    argv: list[str]
    attempt_id: str = ""
    status: int = 0
    signal: int = 0
    timed_out: bool = False
    content: Body | None = None
    errors: Body | None = None
    problem: str = ""


class ActionReconciled(Event, frozen=True, kw_only=True, tag="action.reconciled"):
    """What an attempt did to the target, as it was found out afterwards, by whom and how."""

    attempt_id: str
    state: TargetState
    who: str
    how: Literal["command", "person"]
    status: int = 0
    output: Body | None = None
    errors: Body | None = None
    reason: str = ""


class CleanupDone(Event, frozen=True, kw_only=True, tag="cleanup.done"):
    """What became of the run's workspace."""

    folder: str
    outcome: Literal["removed", "kept", "failed"]
    reason: str = ""


class HoldPlaced(Event, frozen=True, kw_only=True, tag="hold.placed"):
    """From now on, on this machine, no run of this task starts by itself."""

    hold_id: str
    run_id: str
    task_id: str
    reason: str
    who: str = ""


class HoldReleased(Event, frozen=True, kw_only=True, tag="hold.released"):
    """That is over."""

    hold_id: str
    reason: str
    who: str = ""


class HoldMet(Event, frozen=True, kw_only=True, tag="hold.met"):
    """A run of a held task was about to start. `went_on`: it did, and `why` is what was said."""

    hold_id: str
    reason: str
    went_on: bool = False
    why: str = ""


class RetryDecided(Event, frozen=True, kw_only=True, tag="retry.decided"):
    """Whether another run of the task follows by itself: the `number`-th, of `limit` retries."""

    number: int
    limit: int
    scheduled: bool
    reason: str = ""


class TaskEnded(Event, frozen=True, kw_only=True, tag="task.ended"):
    """The runner's own word for how the run ended. It is no evidence of the target's state."""

    state: TaskState
    reason: str = ""


AnyPlaneEvent = (
    TaskAccepted | TaskFollows | ObservationRead | BaselineLoaded | ScratchMade | AgentContained
    | BudgetChanged | ProposalMade | CheckStarted | CheckEnded | CheckResult | VerdictEmitted
    | ApprovalRequested | ApprovalDecided | ApprovalConsumed | ApprovalUnusable | ApprovalWithdrawn
    | ActionAttempted | ActionResult | TargetRead | ActionReconciled | CleanupDone
    | HoldPlaced | HoldReleased | HoldMet | RetryDecided | TaskEnded
)  # fmt: skip
