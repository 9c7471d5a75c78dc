"""The safety state: five questions, answered from records alone. Never from the runner's status.

That something did not happen is only known where the record that would show it cannot be missing:
on a tape that has its end. Of everything else the answer is that nobody knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rerail.trace.attempts import Attempt, attempts_in
from rerail.trace.finding import Evidence
from rerail.trace.gathered import Gathered, at
from rerail.trace.needs import is_of_planes, needs
from rerail.trace.record import Record, text

Answer = Literal["yes", "no", "unknown"]
State = Literal["contained", "rolled back", "partially applied", "applied", "unresolved"]
"""`applied`: the change is on the target, whole, accepted and read back: nothing is contained."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question, its answer, why, and the records that show it."""

    asks: str
    answer: Answer
    because: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Safety:
    """The five answers, what they come to, and each attempt by itself."""

    state: State
    because: str
    questions: tuple[Question, ...]
    attempts: tuple[Attempt, ...]


_REACHED: Final = "Did any change reach the live target?"
_WORKSPACE: Final = "Is the scratch workspace isolated or gone?"
_APPROVAL: Final = "Was an approval issued, used, or left valid?"
_RETRY: Final = "Can an automatic retry still start?"
_RECONCILE: Final = "Does the target need reconciling?"
_MISSING_COUNTS: Final = frozenset((
    "the verdict", "the approval's decision", "the approval's use", "the action's attempt",
    "the action's result", "the check's results", "the proposal", "the run's end",
    "the runner's last word",
))  # fmt: skip
"""What must not be missing for anybody to say that nothing was done."""


def safety(found: Gathered, *, now: int, held: str = "") -> Safety:
    """Answer the five questions. `now` is nanoseconds since 1970; `held` names a hold, if any."""
    attempts = tuple(attempts_in(found))
    reached = _reached(found, attempts)
    approval = _approval(found, now)
    retry = _retry(found, held)
    reconcile = _reconcile(found, attempts)
    questions = (reached, _workspace(found), approval, retry, reconcile)
    state, because = _state(found, attempts, reached, approval, reconcile)
    return Safety(state, because, questions, attempts)


def _state(
    found: Gathered,
    attempts: Sequence[Attempt],
    reached: Question,
    approval: Question,
    reconcile: Question,
) -> tuple[State, str]:
    kinds = {attempt.reached for attempt in attempts}
    if "partly" in kinds or ("applied" in kinds and any(one.uncertain for one in attempts)):
        one = next(one for one in attempts if one.reached == "partly" or one.uncertain)
        return "partially applied", one.because
    if "unknown" in kinds:
        return "unresolved", next(one.because for one in attempts if one.reached == "unknown")
    if reached.answer == "unknown":
        return "unresolved", reached.because
    if reconcile.answer != "no":
        return "unresolved", reconcile.because
    if approval.answer != "no":
        return "unresolved", approval.because
    if "applied" in kinds:
        return "applied", next(one.because for one in attempts if one.reached == "applied")
    if "undone" in kinds:
        return "rolled back", next(one.because for one in attempts if one.reached == "undone")
    return "contained", reached.because


def _reached(found: Gathered, attempts: Sequence[Attempt]) -> Question:
    if attempts:
        return _reached_by_attempts(attempts)
    lacking = _lacking(found)
    if lacking:
        return Question(_REACHED, "unknown", lacking)
    if writes := found.written.total():
        shown = [write.record for kept in found.writes.values() for write in kept][:_SHOWN]
        what = "request" if writes == 1 else "requests"
        because = f"{writes} {what} of the agent may have changed something where it went"
        return Question(_REACHED, "unknown", because, tuple(map(at, shown)))
    last = found.last("verdict.emitted") or found.last("task.ended") or found.last("run.ended")
    because = "no attempt is on record, and no record of the run can be missing"
    return Question(_REACHED, "no", because, (at(last),) if last else ())


_SHOWN: Final = 5


def _reached_by_attempts(attempts: Sequence[Attempt]) -> Question:
    kinds = {attempt.reached for attempt in attempts}
    answer: Answer = "no"
    if kinds & {"partly", "applied", "undone"}:
        answer = "yes"
    elif "unknown" in kinds:
        answer = "unknown"
    because = "; ".join(attempt.because for attempt in attempts)
    evidence = dict.fromkeys(place for attempt in attempts for place in attempt.evidence)
    return Question(_REACHED, answer, because, tuple(evidence))


def _lacking(found: Gathered) -> str:
    """Why the absence of a record says nothing in this case; empty where it does."""
    if not found.tapes:
        return "no source was recorded by rerail: what is not in them is not known"
    if not found.is_whole():
        return "the tape has no end record: what came after its last record nobody knows"
    for one in needs(found):
        if one.presence == "missing" and one.need.name in _MISSING_COUNTS:
            return f"no record of {one.need.name}, so that what is not on record is not known"
    unasked = next((part for part in found.lacking if part.is_request), None)
    if unasked is not None:
        return f"{unasked.what} is not on record: whether it changed anything is not known"
    if found.uncaptured:
        return f"not everything could be captured: {found.uncaptured[0].says}"
    return ""


def _workspace(found: Gathered) -> Question:
    made = found.first("scratch.made")
    if made is None:
        return _no_workspace(found)
    done = _cleanup_of(found, text(made, "folder"))
    if done is None:
        return Question(_WORKSPACE, "unknown", "no record says what became of it", (at(made),))
    outcome, folder = text(done, "outcome"), text(done, "folder")
    evidence = (at(made), at(done))
    if folder != text(made, "folder"):
        because = f"cleanup was of {folder}, not of {text(made, 'folder')}"
        return Question(_WORKSPACE, "unknown", because, evidence)
    if outcome == "removed":
        return Question(_WORKSPACE, "yes", f"{folder} was removed", evidence)
    if outcome == "kept":
        because = f"{folder} was kept: a copy in a folder of its own"
        return Question(_WORKSPACE, "yes", because, evidence)
    return Question(_WORKSPACE, "no", f"{folder} could not be removed", evidence)


def _no_workspace(found: Gathered) -> Question:
    if text(found.last("task.ended"), "state") == "not started":
        return Question(_WORKSPACE, "yes", "none was made: nothing was started")
    follows, cleaned = found.last("task.follows"), found.of("cleanup.done")
    if follows is None:
        return Question(_WORKSPACE, "unknown", "no record says that the run had one of its own")
    for done in cleaned:
        if text(done, "outcome") == "failed":
            because = f"{text(done, 'folder')} could not be removed"
            return Question(_WORKSPACE, "no", because, (at(done),))
    evidence = tuple(map(at, (follows, *cleaned)))
    return Question(_WORKSPACE, "yes", "none was made: no agent ran", evidence)


def _cleanup_of(found: Gathered, folder: str) -> Record | None:
    """The last of this folder, else of another: a run that follows cleans up after itself."""
    done = found.of("cleanup.done")
    own = [one for one in done if text(one, "folder") == folder]
    return next(reversed(own or done), None)


def _approval(found: Gathered, now: int) -> Question:
    """`yes`: one can still be used, or granted."""
    asked, decided = found.of("approval.requested"), found.of("approval.decided")
    if not asked and not decided:
        return _no_approval(found)
    open_until: list[tuple[str, Record]] = []
    for approval in dict.fromkeys(text(one, "approval_id") for one in (*asked, *decided)):
        record = _still_valid(found, approval, now)
        if record is not None:
            open_until.append((approval, record))
    evidence = tuple(map(at, (*asked, *decided, *found.of("approval.consumed"))))
    if open_until:
        approval, record = open_until[0]
        verb = "used" if record.kind == "approval.decided" else "granted"
        return Question(_APPROVAL, "yes", f"{approval} can still be {verb}", (at(record),))
    used = len({attempt for one in (*asked, *decided) for attempt in _uses(found, one)})
    because = f"{len(asked) or len(decided)} issued, {used} used, none is valid any more"
    return Question(_APPROVAL, "no", because, evidence)


def _no_approval(found: Gathered) -> Question:
    used = found.of("approval.consumed", "action.attempted")
    if used:
        because = "one was used, and no record says what was asked or decided"
        return Question(_APPROVAL, "unknown", because, tuple(map(at, used)))
    lacking = _lacking(found)
    verdict = found.last("verdict.emitted")
    if lacking or (verdict is not None and _passed_on(found, verdict)):
        because = lacking or "the verdict is PASS, and no record says whether one was asked for"
        return Question(_APPROVAL, "unknown", because, (at(verdict),) if verdict else ())
    return Question(_APPROVAL, "no", "none was issued", (at(verdict),) if verdict else ())


def _passed_on(found: Gathered, verdict: Record) -> bool:
    ended = text(found.last("task.ended"), "state")
    return text(verdict, "verdict") == "PASS" and ended != "checked"


def _still_valid(found: Gathered, approval: str, now: int) -> Record | None:
    """The grant, or the request nobody has decided, that still opens something."""
    own = [
        one
        for one in found.of("approval.requested", "approval.decided")
        if text(one, "approval_id") == approval
    ]
    decided = [one for one in own if one.kind == "approval.decided"]
    last = decided[-1] if decided else own[0]
    expires = last.fields.get("expires")
    if isinstance(expires, int) and 0 < expires <= now:
        return None
    if decided and text(last, "decision") == "refused":
        return None
    if any(text(one, "approval_id") == approval for one in found.of("approval.withdrawn")):
        return None
    return last if len(_uses(found, last)) < int(last.fields.get("uses") or 1) else None


def _uses(found: Gathered, approval: Record) -> set[str]:
    """The attempts that an approval was used by, as its use or the attempt itself says."""
    return {
        text(one, "attempt_id")
        for one in found.of("approval.consumed", "action.attempted")
        if text(one, "approval_id") == text(approval, "approval_id")
    }


def _retry(found: Gathered, held: str) -> Question:
    decided = found.last("retry.decided")
    evidence = (at(decided),) if decided else ()
    if held:
        because = f"blocked on this machine only, by hold {held}"
        return Question(_RETRY, "no", because, evidence)
    if decided is None:
        if is_of_planes(found) and found.is_whole() and found.last("task.ended"):
            ended = found.last("task.ended")
            because = "the runner ended without scheduling one"
            return Question(_RETRY, "no", because, (at(ended),) if ended else ())
        return Question(_RETRY, "unknown", "nothing on record says, and no hold is placed here")
    if decided.fields.get("scheduled"):
        return Question(_RETRY, "yes", "the runner scheduled one, and no hold is placed", evidence)
    return Question(_RETRY, "no", f"the runner schedules none: {text(decided, 'reason')}", evidence)


def _reconcile(found: Gathered, attempts: Sequence[Attempt]) -> Question:
    uncertain = [attempt for attempt in attempts if attempt.uncertain]
    if uncertain:
        because = "; ".join(attempt.because for attempt in uncertain)
        evidence = dict.fromkeys(place for attempt in uncertain for place in attempt.evidence)
        return Question(_RECONCILE, "yes", because, tuple(evidence))
    unanswered = found.writes["unknown"]
    if unanswered:
        count = found.written["unknown"]
        many = (
            "request that may have changed something was"
            if count == 1
            else ("requests that may have changed something were")
        )
        because = f"{count} {many} never answered"
        places = tuple(at(write.record) for write in unanswered[:_SHOWN])
        return Question(_RECONCILE, "yes", because, places)
    lacking = "" if attempts else _lacking(found)
    if lacking:
        return Question(_RECONCILE, "unknown", lacking)
    if attempts:
        return Question(_RECONCILE, "no", "every attempt's outcome is known")
    if found.written.total():
        because = "what the agent sent may have changed something where it went"
        return Question(_RECONCILE, "unknown", because)
    return Question(_RECONCILE, "no", "nothing was sent to it")
