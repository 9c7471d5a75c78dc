"""The events of a run in two planes, in words: one line an event. Reads no evidence."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rerail.cli.screen.texts import quantity, size_text, utc_second
from rerail.tape import plane_records as planes
from rerail.tape.event import Body, Event
from rerail.tape.proposals import decode_proposal

_LABELS: Final[Mapping[type[Event], str]] = {
    planes.TaskAccepted: "contract",
    planes.TaskFollows: "follows",
    planes.ProposalMade: "proposal",
    planes.VerdictEmitted: "verdict",
    planes.ApprovalDecided: "approval",
    planes.ActionResult: "action",
    planes.ActionReconciled: "reconciled",
    planes.TaskEnded: "outcome",
}
SUMMED_UP: Final = tuple(_LABELS)
"""The kinds that stand at the top of a tape's page."""


def plane_lines(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """Those lines, each with the number of its event."""
    for event in events:
        yield _LABELS[type(event)], f"{plane_words(event)} (e{event.seq})"


def plane_words(event: Event) -> str:
    """What an event of a run in two planes says, "" where it is none."""
    match event:
        case planes.TaskAccepted():
            again = f", run {event.number}" if event.number > 1 else ""
            return f"task {event.task_id} version {event.version}{again}"
        case planes.TaskFollows():
            return f"{event.relation} of run {event.run_id}"
        case planes.ObservationRead():
            return _loaded(event.name, event.version, event.wanted_version, event.problem)
        case planes.BaselineLoaded():
            by = f", as check {event.check_id} says" if event.reported else ""
            text = _loaded(event.name, event.version, event.wanted_version, event.problem)
            return f"baseline {text}{by}"
        case planes.ScratchMade():
            return f"{event.folder}: {quantity(event.files, 'file')}, {size_text(event.size)}"
        case planes.AgentContained():
            lacking = f"; not: {', '.join(event.lacking)}" if event.lacking else ""
            return f"{', '.join(event.layers) or 'nothing'}{lacking}"
        case planes.BudgetChanged():
            spent = ": used up" if event.spent else ""
            return f"{event.used} of {event.limit} {event.budget}{spent}"
        case planes.ProposalMade():
            counts = f"{event.added} added, {event.changed} changed, {event.removed} removed"
            return f"{short(event.proposal_ref)}: {counts}"
        case planes.TaskEnded():
            return _with(event.state, event.reason)
        case planes.RetryDecided():
            what = "follows" if event.scheduled else "does not follow"
            return _with(f"retry {event.number} of {event.limit} {what}", event.reason)
        case planes.CleanupDone():
            return _with(f"{event.folder} {event.outcome}", event.reason)
    return _check_words(event) or _approval_words(event) or _action_words(event)


def _check_words(event: Event) -> str:
    match event:
        case planes.CheckStarted():
            other = "" if event.read_ref == event.proposal_ref else ", which is not what is in it"
            return f"check {event.check_id} of {short(event.proposal_ref)}{other}"
        case planes.CheckEnded():
            how = ending(event.status, event.signal, timed_out=event.timed_out)
            left = f", left running and ended: {'; '.join(event.left)}" if event.left else ""
            return _with(f"check {event.check_id} {how}{_said(event.output)}{left}", event.problem)
        case planes.CheckResult():
            protected = "protected " if event.protected else ""
            name = f"check {event.check_id}: {protected}{event.name} {event.outcome}"
            return _with(name, event.detail)
        case planes.VerdictEmitted():
            return _with(f"{event.verdict} by {event.rule}", event.detail)
    return ""


def _approval_words(event: Event) -> str:
    match event:
        case planes.ApprovalRequested():
            scope = f"{short(event.proposal_ref)} on {event.target}"
            return f"{event.approval_id}: {scope}, until {utc_second(event.expires)}"
        case planes.ApprovalDecided():
            scope = f"{short(event.proposal_ref)} on {event.target}"
            by = f"{event.decision} by {event.who} ({event.how})"
            return _with(f"{event.approval_id} {by}: {scope}", event.reason)
        case planes.ApprovalConsumed():
            return f"{event.approval_id} by attempt {event.attempt_id}"
        case planes.ApprovalWithdrawn():
            return f"{event.approval_id}: the run has ended without using it"
        case planes.ApprovalUnusable():
            return _with(f"{event.approval_id}: {event.why}", event.detail)
        case planes.HoldPlaced():
            return _with(f"{event.hold_id} on {event.task_id or event.run_id}", event.reason)
        case planes.HoldReleased():
            return _with(event.hold_id, event.reason)
        case planes.HoldMet():
            went = f"went on: {event.why}" if event.went_on else "nothing was started"
            return f"{event.hold_id} ({event.reason}): {went}"
    return ""


def _action_words(event: Event) -> str:
    match event:
        case planes.ActionAttempted():
            scope = f"{short(event.proposal_ref)} to {event.target}"
            return f"{event.attempt_id}: {scope}: {shlex.join(event.argv)}"
        case planes.ActionResult():
            how = ending(event.status, event.signal, timed_out=event.timed_out)
            what = f"{event.attempt_id}: {event.outcome}, {how}{_said(event.output)}"
            return _with(what, event.reason)
        case planes.TargetRead():
            return _with(f"{event.target} {event.moment}{_said(event.content)}", event.problem)
        case planes.ActionReconciled():
            by = f"by {event.who} ({event.how})"
            return _with(f"{event.attempt_id}: {event.state}, {by}", event.reason)
    return ""


def plane_body(event: Event, *, errors: bool = False) -> Body | None:
    """What such an event points to: a document or a command's output, or its standard error."""
    names = ("errors",) if errors else ("contract", "content", "output", "evidence")
    found = (getattr(event, name, None) for name in names)
    return next((body for body in found if isinstance(body, Body)), None)


def change_lines(content: bytes) -> Iterator[str]:
    """A proposal path by path: `M retry.yaml 1f2e… → 77ab…`. Raises ValueError where it is none."""
    made = decode_proposal(content)
    yield f"base sha256:{made.base.hex()}"
    for change in made.changes:
        letter = "D" if not change.mode else "M" if change.old else "A"
        path = change.path.decode("utf-8", "surrogateescape") or "."
        was, now = (digest.hex()[:12] for digest in (change.old, change.new))
        yield f"{letter} {path} {was or '-'} → {now or '-'}"


def short(ref: bytes) -> str:
    """A proposal's name for people: the beginning of its digest."""
    return f"sha256:{ref.hex()[:12]}"


def ending(status: int, signal: int, *, timed_out: bool) -> str:
    """How a command of the verdict plane ended."""
    if timed_out:
        return "timed out"
    return f"signal {signal}" if signal else f"status {status}"


def _loaded(name: str, version: str, wanted: str, problem: str) -> str:
    other = f", where version {wanted} is named" if wanted and wanted != version else ""
    return _with(f"{name} version {version or '?'}{other}", problem)


def _with(text: str, more: str) -> str:
    return f"{text}: {more}" if more else text


def _said(body: Body | None) -> str:
    return f", {size_text(body.size)}" if body is not None else ""
