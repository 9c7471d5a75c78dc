"""The final known state of a run, as its records have it. What no record says stays unknown."""

from dataclasses import dataclass

from rerail.trace.gathered import Gathered
from rerail.trace.record import text

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FinalState:
    """The last words on record. `runner_state` is the runner's own, and no evidence of a target."""

    run_id: str
    task_id: str
    runner_state: str
    proposal_ref: str
    verdict: str
    live_action: str
    workspace: str


def final_state(found: Gathered) -> FinalState:
    """Read it from a case's records."""
    run = found.first("run.started")
    task = found.first("task.accepted") or run
    return FinalState(
        run_id=text(run, "run_id") or found.run_id or UNKNOWN,
        task_id=text(task, "task_id") or UNKNOWN,
        runner_state=_runner_state(found),
        proposal_ref=text(found.last("proposal.made"), "proposal_ref") or "none on record",
        verdict=text(found.last("verdict.emitted"), "verdict") or "none on record",
        live_action=_live_action(found),
        workspace=text(found.last("cleanup.done"), "outcome") or UNKNOWN,
    )


def _runner_state(found: Gathered) -> str:
    ended = found.last("task.ended")
    if ended is not None:
        return text(ended, "state")
    if found.last("run.lost") is not None:
        return "lost"
    run = found.last("run.ended")
    return f"ended with status {text(run, 'status')}" if run is not None else "no end on record"


def _live_action(found: Gathered) -> str:
    attempts = found.of("action.attempted")
    if not attempts:
        named = found.of("action.result", "action.reconciled", "approval.consumed")
        if named or not found.is_whole():
            return UNKNOWN
        return "none on record"
    results = {text(one, "attempt_id"): text(one, "outcome") for one in found.of("action.result")}
    last = text(attempts[-1], "attempt_id")
    return f"{last}: {results.get(last) or 'no result on record'}"
