"""What each component of a run in two planes took for granted, against what is on record.

Walks the records that decide, in order. The links between them are `links`'; this is what stands in
one record, or in one beside what it was stated to be. Says nothing where a record is missing.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rerail.trace.finding import Category, Evidence, Finding, Tier
from rerail.trace.gathered import Gathered, at
from rerail.trace.record import Record, short, text


def assumptions(found: Gathered) -> list[Finding]:
    """What was noticed, in the order of the records."""
    noticed: list[Finding] = []
    for record in found.deciding:
        look = _LOOKS.get(record.kind)
        if look is not None:
            noticed += look(record, found)
    return [*noticed, *_unstable(found), *_lost(found)]


def _finding(
    name: str,
    category: Category,
    what: str,
    record: Record,
    *others: Record | None,
    tier: Tier = "linkage",
    states: str = "",
) -> Finding:
    evidence = [at(record), *(at(other) for other in others if other is not None)]
    return Finding(name, category, tier, what, tuple(evidence), record.order, states)


def _observation(record: Record, found: Gathered) -> Iterator[Finding]:
    name, contract = text(record, "name"), found.first("task.accepted")
    if text(record, "problem"):
        what = f"the input {name} could not be read: {text(record, 'problem')}"
        yield _finding("unread-input", "task", what, record, contract, tier="structure",
                       states=f"the contract names {name} as an input")  # fmt: skip
        return
    wanted, got = text(record, "wanted_version"), text(record, "version")
    if wanted and got and wanted != got:
        what = f"the agent was given {name} version {got}, and the contract names {wanted}"
        yield _finding("stale-input", "task", what, record, contract,
                       states=f"the contract names {name} version {wanted}")  # fmt: skip
    body = record.fields.get("content")
    digest = str(body.get("digest", "")) if isinstance(body, Mapping) else ""
    named = text(record, "wanted_digest")
    if named and digest and named != digest:
        what = f"the input {name} has the content {short(digest)}, not {short(named)}"
        yield _finding("stale-input", "task", what, record, contract,
                       states=f"the contract names {name} with {short(named)}")  # fmt: skip


def _budget(record: Record, found: Gathered) -> Iterator[Finding]:
    if not record.fields.get("spent"):
        return
    limit, name = text(record, "limit"), text(record, "budget")
    what = f"the agent was ended: its budget of {limit} {name} was used up"
    yield _finding("budget-spent", "runtime", what, record, found.first("task.accepted"),
                   tier="structure", states=f"the contract allows {limit} {name}")  # fmt: skip


def _containment(record: Record, found: Gathered) -> Iterator[Finding]:
    lacking = record.fields.get("lacking") or {}
    if lacking:
        what = f"the agent was not kept from everything: {', '.join(map(str, lacking))}"
        yield _finding("not-contained", "boundary", what, record, tier="context")


def _proposal(record: Record, found: Gathered) -> Iterator[Finding]:
    counts = [record.fields.get(name) for name in ("added", "changed", "removed")]
    if not any(counts):
        what = "the agent proposed no change at all"
        objective = text(found.first("task.accepted"), "objective")
        yield _finding("empty-proposal", "agent", what, record, found.first("task.accepted"),
                       tier="structure",
                       states=f"the objective: {objective}" if objective else "")  # fmt: skip


def _command_ended(record: Record, found: Gathered) -> Iterator[Finding]:
    """How the agent's own command ended; a budget that was used up ends it by a signal."""
    contract = found.first("task.accepted")
    if contract is None:
        return
    states = "the contract's agent ends by itself, with status 0"
    if record.fields.get("signal"):
        what = f"the agent was ended by signal {record.fields['signal']}"
        yield _finding("agent-killed", "runtime", what, record, contract, tier="structure",
                       states=states)  # fmt: skip
    elif record.fields.get("status") and not record.fields.get("unknown"):
        what = f"the agent's command ended with status {record.fields['status']}"
        yield _finding("agent-failed", "agent", what, record, contract, tier="structure",
                       states=states)  # fmt: skip


def _lost(found: Gathered) -> Iterator[Finding]:
    """A tape that nobody writes any more and that has no end: who wrote it died."""
    if found.first("task.accepted") is None:
        return
    for source in sorted(found.tapes - found.whole):
        own = [record for record in found.deciding if record.source == source]
        if own and not any(record.kind == "task.ended" for record in own):
            what = "the runner died: its tape has no end"
            yield _finding("runner-lost", "runtime", what, own[-1], tier="structure",
                           states="a run ends with its end on record")  # fmt: skip


def _check_ended(record: Record, found: Gathered) -> Iterator[Finding]:
    number = record.fields.get("check_id")
    if record.fields.get("timed_out"):
        what = f"check {number} did not end in its time"
        yield _finding("check-timed-out", "check", what, record, tier="structure",
                       states="a verdict needs a check that ended")  # fmt: skip
    elif text(record, "problem") or record.fields.get("signal"):
        why = text(record, "problem") or f"signal {record.fields.get('signal')}"
        what = f"what check {number} found cannot be read: {why}"
        yield _finding("check-unreadable", "check", what, record, tier="structure",
                       states="a verdict needs results that can be read")  # fmt: skip
    elif record.fields.get("status"):
        results = [
            one
            for one in found.of("check.result")
            if (one.source, one.fields.get("check_id")) == (record.source, number)
        ]
        if results and all(text(one, "outcome") in ("passed", "skipped") for one in results):
            status = record.fields["status"]
            what = f"check {number} ended with status {status}, and every case of it passed"
            yield _finding("check-contradicts", "check", what, record, *results[:1],
                           states="every case passed")  # fmt: skip


def _check_result(record: Record, found: Gathered) -> Iterator[Finding]:
    """A failed case. Whether its rule was given to the agent says whose assumption broke."""
    if text(record, "outcome") == "error":
        what = f"case {text(record, 'name')} did not run: {text(record, 'detail')}"
        yield _finding("case-error", "check", what, record, tier="structure")
    if text(record, "outcome") != "failed":
        return
    protected = "protected " if record.fields.get("protected") else ""
    detail = f": {text(record, 'detail')}" if text(record, "detail") else ""
    failed = f"{protected}case {text(record, 'name')} fails{detail}"
    made = found.last("proposal.made")
    told = _told(found, text(record, "tests"))
    if told is not None:
        rule, stated = told
        what = f"the proposal contradicts {rule}, which the agent was given: {failed}"
        yield _finding("rule-broken", "agent", what, made or record, record, stated,
                       states=f"{rule} was given to the agent")  # fmt: skip
    elif text(record, "tests"):
        what = f"{failed}; its rule, {text(record, 'tests')}, stands in nothing the agent was given"
        yield _finding("rule-not-given", "task", what, record, found.first("task.accepted"),
                       states=f"the case tests {text(record, 'tests')}")  # fmt: skip
    else:
        yield _finding("case-failed", "agent", failed, record, made)


def _told(found: Gathered, tests: str) -> tuple[str, Record] | None:
    """Where what a case tests was given to the agent: a constraint of the contract, or an input."""
    if not tests:
        return None
    for record in found.of("observation.read"):
        if text(record, "name") == tests and not text(record, "problem"):
            return f"{tests} {text(record, 'version')}".strip(), record
    contract = found.first("task.accepted")
    stated = contract.fields.get("constraints") if contract else None
    if contract is not None and isinstance(stated, Mapping) and tests in stated:
        return f"the constraint {tests} ({stated[tests]})", contract
    return None


def _unusable(record: Record, found: Gathered) -> Iterator[Finding]:
    approval, why = text(record, "approval_id"), text(record, "why")
    granted = [one for one in found.of("approval.decided") if text(one, "approval_id") == approval]
    what = f"approval {approval} does not hold: {why}"
    detail = text(record, "detail")
    yield _finding("approval-unusable", "boundary", f"{what}, {detail}" if detail else what, record,
                   *granted[-1:], states="an action needs an approval that holds")  # fmt: skip


def _decided(record: Record, found: Gathered) -> Iterator[Finding]:
    approval = text(record, "approval_id")
    asked = [one for one in found.of("approval.requested") if text(one, "approval_id") == approval]
    if text(record, "decision") == "refused":
        what = f"approval {approval} was refused: {text(record, 'reason')}".rstrip(": ")
        yield _finding("approval-refused", "boundary", what, record, *asked[:1], tier="context")
        return
    wider = [
        name
        for name in ("proposal_ref", "target")
        if asked and text(record, name) != text(asked[0], name)
    ]
    if wider or text(record, "target") in ("", "*") or not text(record, "proposal_ref"):
        what = f"approval {approval} was granted for more, or for something else, than was asked"
        yield _finding("approval-too-broad", "boundary", what, record, *asked[:1],
                       states="an approval names one proposal and one target")  # fmt: skip


def _result(record: Record, found: Gathered) -> Iterator[Finding]:
    attempt, outcome = text(record, "attempt_id"), text(record, "outcome")
    sent = _attempt(found, attempt)
    reason = f": {text(record, 'reason')}" if text(record, "reason") else ""
    if outcome == "rejected":
        what = f"the target rejected attempt {attempt}{reason}"
        yield _finding("target-rejected", "target", what, record, sent, tier="structure",
                       states="what was approved was to be accepted")  # fmt: skip
    elif outcome == "unknown":
        how = "timed out" if record.fields.get("timed_out") else "ended without an answer"
        what = f"attempt {attempt} was sent and {how}: what it did is unknown{reason}"
        yield _finding("outcome-unknown", "target", what, record, sent, tier="structure",
                       states="an action is answered")  # fmt: skip


def _attempted(record: Record, found: Gathered) -> Iterator[Finding]:
    attempt = text(record, "attempt_id")
    if any(text(one, "attempt_id") == attempt for one in found.of("action.result")):
        return
    what = f"attempt {attempt} was sent, and no record says what came back"
    evidence: tuple[Evidence, ...] = (at(record),)
    yield Finding(
        "outcome-unrecorded", "runtime", "structure", what, evidence, record.order, "", True
    )


def _read(record: Record, found: Gathered) -> Iterator[Finding]:
    """After an accepted action the target must be other than before it."""
    attempt = text(record, "attempt_id")
    if text(record, "problem") or record.fields.get("timed_out"):
        why = text(record, "problem") or "the read did not end in its time"
        what = f"{text(record, 'target')} could not be read: {why}"
        yield _finding("target-unreadable", "target", what, record, found.first("task.accepted"),
                       tier="structure",
                       states="the contract names how the target is read")  # fmt: skip
        return
    if text(record, "moment") != "after" or not attempt:
        return
    before = [
        one
        for one in found.of("target.read")
        if text(one, "moment") == "before" and text(one, "target") == text(record, "target")
    ]
    result = [one for one in found.of("action.result") if text(one, "attempt_id") == attempt]
    if not before or not result or not read_digest(before[-1]) or not read_digest(record):
        return
    same = read_digest(before[-1]) == read_digest(record)
    outcome = text(result[-1], "outcome")
    if outcome == "accepted" and same:
        what = (
            f"the target said that it accepted attempt {attempt}, and it is as it was before: it "
            "did nothing, or had it already"
        )
    elif outcome == "rejected" and not same:
        what = f"the target rejected attempt {attempt}, and it is not as it was before"
    else:
        return
    yield _finding("target-differs", "target", what, record, result[-1], before[-1],
                   states=f"attempt {attempt} was {outcome}")  # fmt: skip


def _reconciled(record: Record, found: Gathered) -> Iterator[Finding]:
    if text(record, "state") == "partly applied":
        attempt = text(record, "attempt_id")
        what = f"attempt {attempt} was applied in part"
        yield _finding("partly-applied", "target", what, record, _attempt(found, attempt),
                       states="an action is applied whole or not at all")  # fmt: skip


def _cleanup(record: Record, found: Gathered) -> Iterator[Finding]:
    if text(record, "outcome") == "failed":
        what = f"the workspace could not be removed: {text(record, 'reason')}"
        yield _finding("cleanup-failed", "runtime", what, record, tier="structure")


def _unstable(found: Gathered) -> Iterator[Finding]:
    """The same case of the same proposal, once so and once so."""
    of_check = {
        (record.source, record.fields.get("check_id")): text(record, "proposal_ref")
        for record in found.of("check.started")
    }
    seen: dict[tuple[str, str], Record] = {}
    for record in found.of("check.result"):
        proposal = of_check.get((record.source, record.fields.get("check_id")), "")
        other = seen.setdefault((proposal, text(record, "name")), record)
        outcomes = {text(record, "outcome"), text(other, "outcome")}
        # By another baseline the same case may well end otherwise: that is no wavering.
        if proposal and record.source == other.source and outcomes == {"passed", "failed"}:
            name = f"case {text(record, 'name')}"
            what = f"{name} of one proposal once passed and once failed"
            states = f"{name} {text(other, 'outcome')}"
            yield _finding("case-unstable", "check", what, record, other, states=states)


def _attempt(found: Gathered, attempt: str) -> Record | None:
    sent = (one for one in found.of("action.attempted") if text(one, "attempt_id") == attempt)
    return next(sent, None)


def read_digest(record: Record) -> str:
    """The digest of what was read of a target, empty where nothing could be read."""
    content = record.fields.get("content")
    if text(record, "problem") or record.fields.get("timed_out"):
        return ""
    return str(content.get("digest", "")) if isinstance(content, Mapping) else ""


_LOOKS: Final[Mapping[str, Callable[[Record, Gathered], Iterator[Finding]]]] = {
    "observation.read": _observation,
    "budget.changed": _budget,
    "process.ended": _command_ended,
    "agent.contained": _containment,
    "proposal.made": _proposal,
    "check.ended": _check_ended,
    "check.result": _check_result,
    "approval.decided": _decided,
    "approval.unusable": _unusable,
    "action.attempted": _attempted,
    "action.result": _result,
    "target.read": _read,
    "action.reconciled": _reconciled,
    "cleanup.done": _cleanup,
}
