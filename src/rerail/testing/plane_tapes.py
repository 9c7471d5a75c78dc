"""Tapes of runs in two planes made by hand, record by record, for tests and measurements.

The story is that of RUN-8894: task version 8, a retry policy, a proposal that a checker reads. What
goes wrong is said by keywords; any kind of record can be left out. Opens no socket.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from rerail.tape import plane_records as planes
from rerail.tape.event import Body, Event
from rerail.tape.proposals import encode_proposal, proposal
from rerail.tape.records import RunEnded
from rerail.tape.trees import Entry, Tree, encode_tree
from rerail.testing.tapes import WALL, Recording

MINUTE: Final = 60_000_000_000
_OLD: Final = b"limit: 3\n"
_NEW: Final = b"limit: 9\n"


def _folder(content: bytes) -> Tree:
    digest = sha256(content).digest()
    file = Entry(b"retry.yaml", "file", 0o100644, len(content), content=digest)
    return (Entry(b"", "folder", 0o40755), file)


_BEFORE: Final = encode_tree(_folder(_OLD))
_AFTER: Final = encode_tree(_folder(_NEW))
_PROPOSAL: Final = encode_proposal(proposal(_folder(_OLD), _folder(_NEW)))

PROPOSAL: Final = sha256(_PROPOSAL).digest()
"""The name of the proposal that every such run makes: a limit of nine."""

OTHER: Final = sha256(b"another proposal").digest()

CONTRACT: Final = b"""\
task: TASK-1061
version: "8"
objective: Raise the retry limit of the payment client
agent: {command: [python3, agent.py]}
workspace: config
checker: {command: [python3, check.py], version: "3"}
baseline: {name: retry-cases, version: "12", path: baselines/12.json}
budget: {turns: 10}
constraints:
  - {id: max-retries, text: No client may retry more than five times}
inputs:
  - {name: retry-policy, path: policy.md, version: "4"}
target:
  name: payments
  owner: payments on call
  apply: {command: [apply]}
  read: {command: [read]}
"""


@dataclass(slots=True)
class PlaneTape:
    """A run in two planes being made; `without` are kinds of events that are left out."""

    recording: Recording
    without: Collection[str] = ()
    refs: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def begin(
        cls, path: Path, *, run_id: str = "RUN-8894", without: Collection[str] = (), **fields: Any
    ) -> "PlaneTape":
        """Make the tape and its first event."""
        return cls(Recording.begin(path, run_id=run_id, task_id="TASK-1061", **fields), without)

    def put(self, kind: type[Event], **fields: Any) -> int:
        """One event, unless its kind is left out."""
        if str(kind.__struct_config__.tag) in self.without:
            return 0
        return self.recording.event(kind, **fields)

    def content(self, text: str) -> Body:
        """A document on the tape."""
        body = self.recording.body(0, "agent", [text.encode()], framing="none")
        assert body is not None
        return body

    def kept(self, *contents: bytes) -> bytes:
        """Contents on the tape; the digest of the first."""
        kept = [
            self.recording.writer.blob(self.recording.redactor.body(content))
            for content in contents
        ]
        return kept[0]

    def agents_plane(self, *, policy: str = "4", baseline: str = "12") -> None:
        """From the contract to the proposal."""
        self.put(planes.TaskAccepted, component="runner", task_id="TASK-1061", version="8",
                 contract=self.content(CONTRACT.decode()), source="task.yaml")  # fmt: skip
        self.put(planes.ObservationRead, component="sensor", name="retry-policy", version=policy,
                 wanted_version="4", content=self.content("At most five retries."))  # fmt: skip
        self.put(planes.BaselineLoaded, component="sensor", name="retry-cases", version=baseline,
                 wanted_version="12", content=self.content(f"baseline {baseline}"))  # fmt: skip
        self.put(planes.ScratchMade, component="runner", folder="/scratch/1", source="config",
                 base=self.kept(_BEFORE, _OLD), base_size=len(_BEFORE), files=1)  # fmt: skip
        self.put(planes.AgentContained, component="runner", layers=["files"])
        self.put(planes.BudgetChanged, component="runner", budget="turns", limit=10, used=3)
        self.put(planes.ProposalMade, component="agent", proposal_ref=self.kept(_PROPOSAL),
                 size=len(_PROPOSAL), base=self.kept(_BEFORE, _OLD), base_size=len(_BEFORE),
                 tree=self.kept(_AFTER, _NEW), tree_size=len(_AFTER), changed=1)  # fmt: skip

    def check(
        self,
        *,
        baseline: str = "12",
        failed: bool = True,
        tests: str = "retry-policy",
        read: bytes = b"",
        verdict: planes.Verdict | None = None,
    ) -> None:
        """The checker, its results, and the verdict that follows unless another is given."""
        self.put(planes.CheckStarted, component="checker", check_id=1, proposal_ref=PROPOSAL,
                 read_ref=read or PROPOSAL, argv=["python3", "check.py"], version="3")  # fmt: skip
        self.put(planes.CheckEnded, component="checker", check_id=1, status=int(failed),
                 output=self.content("a result"))  # fmt: skip
        self.put(planes.BaselineLoaded, component="checker", name="retry-cases", version=baseline,
                 wanted_version="12", reported=True, check_id=1)  # fmt: skip
        self.put(planes.CheckResult, component="checker", check_id=1, name="bounded-retries",
                 outcome="failed" if failed else "passed", protected=True, tests=tests,
                 detail="9 retries, allowed are 5" if failed else "")  # fmt: skip
        self.put(planes.CheckResult, component="checker", check_id=1, name="parses",
                 outcome="passed")  # fmt: skip
        self.put(planes.VerdictEmitted, component="verdict", proposal_ref=PROPOSAL, checks=[1],
                 verdict=verdict or ("STOP" if failed else "PASS"), rule="cases")  # fmt: skip

    def approve(
        self,
        *,
        proposal: bytes = b"",
        target: str = "payments",
        minutes: int = 15,
        decision: Any = "granted",
    ) -> None:
        """Somebody is asked and decides."""
        expires = WALL + minutes * MINUTE
        scope = {"approval_id": "A-1", "expires": expires}
        self.put(planes.ApprovalRequested, component="verdict", proposal_ref=PROPOSAL,
                 target="payments", who=["ada"], **scope)  # fmt: skip
        self.put(planes.ApprovalDecided, component="approver", proposal_ref=proposal or PROPOSAL,
                 target=target, who="ada", how="command", decision=decision, **scope)  # fmt: skip

    def act(
        self,
        outcome: planes.ActionOutcome | None = "accepted",
        *,
        before: str = "limit 3",
        after: str | None = "limit 5",
        attempt: str = "T-1",
        approval: str = "A-1",
        **result: Any,
    ) -> None:
        """The action: read before, attempt, result (None: there is none), read after."""
        argv = ["read"]
        common = {"component": "applier", "target": "payments", "argv": argv}
        self.put(planes.TargetRead, moment="before", content=self.content(before), **common)
        if approval:
            self.put(planes.ApprovalConsumed, component="applier", approval_id=approval,
                     attempt_id=attempt)  # fmt: skip
        self.put(planes.ActionAttempted, component="applier", attempt_id=attempt, target="payments",
                 approval_id=approval, proposal_ref=PROPOSAL, argv=["apply"])  # fmt: skip
        if outcome is not None:
            self.put(planes.ActionResult, component="target", attempt_id=attempt, outcome=outcome,
                     **result)  # fmt: skip
        if after is not None:
            self.put(planes.TargetRead, moment="after", attempt_id=attempt,
                     content=self.content(after), **common)  # fmt: skip

    def end(self, state: planes.TaskState = "stopped", *, folder: str = "/scratch/1") -> Path:
        """Cleanup, the runner's word, the end."""
        self.put(planes.CleanupDone, component="applier", folder=folder, outcome="removed")
        self.put(planes.TaskEnded, component="runner", state=state)
        self.put(RunEnded, component="runner", status=1 if state != "applied" else 0)
        self.recording.writer.close()
        return self.recording.path


def run_8894(path: Path, *, checked_by: str = "11", without: Collection[str] = ()) -> Path:
    """The document's own example: the checker went by baseline 11, the contract names 12."""
    tape = PlaneTape.begin(path, without=without)
    tape.agents_plane()
    tape.check(baseline=checked_by)
    return tape.end()
