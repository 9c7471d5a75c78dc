"""The kinds of records that an investigation needs, and which of them are missing. Fills no gap.

Absent is not missing: after a STOP nobody asks for an approval. A kind is missing where another
record on the case calls for it; a missing record is a finding, and blames nobody.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from rerail.trace.finding import Evidence, Finding
from rerail.trace.gathered import Gathered, at
from rerail.trace.record import Record, text

Presence = Literal["present", "missing", "not called for"]


@dataclass(frozen=True, slots=True)
class Need:
    """One kind of record: what it would show, and which record calls for it (None: none does).

    `last`: it would stand behind all that came to pass.
    """

    name: str
    kinds: tuple[str, ...]
    would_show: str
    called_for: Callable[[Gathered], Record | None]
    planes: bool = True
    last: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """How a need stands. `by` is the record that calls for it, or that says why none is needed."""

    need: Need
    presence: Presence
    count: int = 0
    by: Record | None = None

    def finding(self, ends: Mapping[str, int]) -> Finding:
        """A missing record as a finding; `ends` are the orders of each source's last record."""
        evidence = (at(self.by),) if self.by else ()
        order = self.by.order if self.by else 0
        if self.by and self.need.last:
            order = ends[self.by.source] + 1
        what = f"no record of {self.need.name}: it would have shown {self.need.would_show}"
        return Finding("missing-record", "runtime", "structure", what, evidence, order, "", True)


def needs(found: Gathered) -> list[Found]:
    """How each need stands in a case. What only runs in two planes have is asked of them alone."""
    planes = is_of_planes(found)
    return [_stands(need, found) for need in NEEDS if planes or not need.planes]


def is_of_planes(found: Gathered) -> bool:
    """Whether the run had a verdict plane."""
    return any(
        not record.kind.startswith(("run.", "hold.", "process.")) for record in found.deciding
    )


def _stands(need: Need, found: Gathered) -> Found:
    count = sum(found.count(kind) for kind in need.kinds)
    by = need.called_for(found)
    if count:
        return Found(need, "present", count, by)
    return Found(need, "missing" if by else "not called for", 0, by or _why_not(found))


def _why_not(found: Gathered) -> Record | None:
    return found.last("verdict.emitted") or found.last("task.ended") or found.last("run.ended")


def _any(*kinds: str) -> Callable[[Gathered], Record | None]:
    """Called for by any of these kinds."""

    def called(found: Gathered) -> Record | None:
        return next(iter(found.of(*kinds)), None)

    return called


def _always(found: Gathered) -> Record | None:
    return found.deciding[0] if found.deciding else None


def _started(found: Gathered) -> Record | None:
    """A process began, and the tape has its end: so the process's own must be there."""
    if found.count("script.started") or not found.is_whole():
        return None  # a durable script's process may die between two pauses
    return found.first("run.started") if found.count("process.started") else None


def _snapshotted(found: Gathered) -> Record | None:
    """The recorder says of itself that it kept the folder, and something ran in it."""
    run = found.first("run.started")
    capture = run.fields.get("capture") if run is not None else None
    how = str(capture.get("workspace", "no")) if isinstance(capture, Mapping) else "no"
    return run if not how.startswith("no") and found.count("process.started") else None


def _given_any(found: Gathered) -> Record | None:
    """The contract names inputs, or cannot be read."""
    contract = found.first("task.accepted")
    if contract is not None and contract.fields.get("inputs") == []:
        return None
    return _unless_not_started(found)


def _budgeted(found: Gathered) -> Record | None:
    """An agent worked under a contract that names a budget, or that cannot be read."""
    contract = found.first("task.accepted")
    if contract is not None and contract.fields.get("budgets") == []:
        return None
    return next(iter(found.of("scratch.made", "agent.contained", "proposal.made")), None)


def _unless_not_started(found: Gathered) -> Record | None:
    """Something ran, or nobody says that nothing did."""
    ended = found.last("task.ended")
    if ended is not None and text(ended, "state") == "not started":
        return None
    return _always(found)


def _proposed(found: Gathered) -> Record | None:
    """Checks exist where something was proposed."""
    return next(iter(found.of("proposal.made", "verdict.emitted")), None)


def _of_checks(found: Gathered) -> Record | None:
    """A check that may have reported something: it is not on record that it could not."""
    silent = {
        (ended.source, ended.fields.get("check_id"))
        for ended in found.of("check.ended")
        if text(ended, "problem") or ended.fields.get("timed_out") or ended.fields.get("signal")
    }
    checks = found.of("check.started", "check.ended")
    for record in checks:
        if (record.source, record.fields.get("check_id")) not in silent:
            return record
    return None if checks else _with_checks(found)


def _with_checks(found: Gathered) -> Record | None:
    return next((one for one in found.of("verdict.emitted") if one.fields.get("checks")), None)


def _passed(found: Gathered) -> Record | None:
    """A verdict that lets an action through, or a trace of one, calls for an approval."""
    used = found.of("approval.decided", "approval.consumed", "action.attempted", "action.result")
    if used:
        return used[0]
    ended = found.last("task.ended")
    if ended is not None and text(ended, "state") in ("checked", "stopped", "not started"):
        return None
    return next(
        (one for one in found.of("verdict.emitted") if text(one, "verdict") == "PASS"), None
    )


def _decided(found: Gathered) -> Record | None:
    return next(iter(found.of("approval.consumed", "action.attempted", "action.result")), None)


def _acted(found: Gathered) -> Record | None:
    """Somebody used an approval, or something came of an action."""
    used = found.of("approval.consumed", "action.result", "action.reconciled")
    after = [one for one in found.of("target.read") if text(one, "moment") == "after"]
    ended = found.last("task.ended")
    state = text(ended, "state")
    claimed = [ended] if ended and state in ("applied", "rejected", "unresolved") else []
    return next(iter([*used, *after, *claimed]), None)


def _read(found: Gathered) -> Record | None:
    return next(iter(found.of("action.attempted", "action.result")), None)


def _uncertain(found: Gathered) -> Record | None:
    """An action of which nobody knows what it did."""
    results = {text(one, "attempt_id"): one for one in found.of("action.result")}
    for attempt in found.of("action.attempted"):
        result = results.get(text(attempt, "attempt_id"))
        if result is None or text(result, "outcome") == "unknown":
            return result or attempt
    return next((one for one in results.values() if text(one, "outcome") == "unknown"), None)


NEEDS: Final = (
    Need("the run's start", ("run.started",), "what was run, where, by which version", _always,
         planes=False),
    Need("the run's end", ("run.ended", "run.lost"), "that nothing came after the last record",
         _always, planes=False, last=True),
    Need("the agent's process", ("process.started",), "which command ran, and where",
         _any("process.ended"), planes=False),
    Need("the end of the agent's process", ("process.ended",), "how the agent ended", _started,
         planes=False),
    Need("the agent's folder", ("workspace.snapshot",), "which files it found, and left",
         _snapshotted, planes=False),
    Need("the task contract", ("task.accepted",), "what was asked, within what bounds", _always),
    Need("the observations", ("observation.read",), "what the agent was given to go by",
         _given_any),
    Need("the baseline", ("baseline.loaded",), "what the proposal was checked against", _always),
    Need("the workspace", ("scratch.made",), "where the agent worked, and on what",
         _unless_not_started),
    Need("the agent's containment", ("agent.contained",), "what the agent could reach",
         _any("scratch.made", "proposal.made", "budget.changed")),
    Need("the budget", ("budget.changed",), "what the agent had used when it ended",
         _budgeted),
    Need("the proposal", ("proposal.made",), "what the agent left behind",
         _any("check.started", "check.ended", "check.result", "approval.requested",
              "action.attempted")),
    Need("the check's start", ("check.started",), "which proposal the checker read",
         _any("check.ended", "check.result")),
    Need("the check's raw evidence", ("check.ended",), "what the checker itself said",
         _any("check.started", "check.result")),
    Need("the check's results", ("check.result",), "which cases passed and which failed",
         _of_checks),
    Need("the verdict", ("verdict.emitted",), "what followed from the checks",
         _any("proposal.made", "check.ended", "check.result", "approval.requested",
              "action.attempted")),
    Need("the approval's request", ("approval.requested",), "what somebody was asked", _passed),
    Need("the approval's decision", ("approval.decided",), "who let it through, and how far",
         _decided),
    Need("the approval's use", ("approval.consumed",), "that it cannot be used again",
         _any("action.attempted", "action.result")),
    Need("the action's attempt", ("action.attempted",), "what was sent to the target, and when",
         _acted),
    Need("the action's result", ("action.result",), "what the target answered",
         _any("action.attempted")),
    Need("an independent read of the target", ("target.read",), "the target's own state", _read),
    Need("the reconciliation", ("action.reconciled",), "what the uncertain action did", _uncertain,
         last=True),
    Need("the cleanup", ("cleanup.done",), "what became of the workspace", _any("scratch.made"),
         last=True),
    Need("the decision on a retry", ("retry.decided",), "whether a run follows by itself",
         lambda found: None),
    Need("the runner's last word", ("task.ended",), "how the runner saw the end",
         _any("task.accepted"), last=True),
)  # fmt: skip


def missing(found: Gathered) -> list[Finding]:
    """The missing kinds as findings, and what each source itself could not capture."""
    ends = {record.source: record.order for record in found.deciding}
    absent = [one.finding(ends) for one in needs(found) if one.presence == "missing"]
    for part in found.lacking:
        what = f"no record of {part.what}: it would have shown {part.would_show}"
        where: tuple[Evidence, ...] = (at(part.record),)
        order = part.record.order
        absent.append(
            Finding("missing-record", "runtime", "structure", what, where, order, "", True)
        )
    for record in found.uncaptured:
        what = f"not captured: {record.says}"
        place: tuple[Evidence, ...] = (at(record),)
        absent.append(
            Finding("not-captured", "runtime", "context", what, place, record.order, "", True)
        )
    for source, gap in found.gaps:
        what = f"{source} cannot show {gap.would_show}: {gap.what}"
        absent.append(Finding("source-gap", "runtime", "context", what, (), 0, "", True))
    return absent
