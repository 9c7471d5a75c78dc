"""What each attempt on the target did, from what was sent, answered, read and reconciled.

The runner's word counts only where the target itself bears it out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rerail.trace.assumptions import read_digest
from rerail.trace.finding import Evidence
from rerail.trace.gathered import Gathered, at
from rerail.trace.record import Record, text

Reached = Literal["not", "partly", "applied", "undone", "unknown"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt on the target did, as far as records show."""

    attempt_id: str
    reached: Reached
    because: str
    evidence: tuple[Evidence, ...]
    uncertain: bool = False


def attempts_in(found: Gathered) -> Iterator[Attempt]:
    """Every attempt that any record names, whether or not one says that it was sent."""
    records = found.of(*_OF_ATTEMPTS)
    for attempt_id in dict.fromkeys(text(record, "attempt_id") for record in records):
        own = [record for record in records if text(record, "attempt_id") == attempt_id]
        known = _known(found, own)
        reached, because = _reached_by(known)
        uncertain = reached == "unknown" or (reached == "partly" and not known.reconciled)
        evidence = tuple(at(record) for record in (*own, *known.reads))
        yield Attempt(attempt_id, reached, f"attempt {attempt_id} {because}", evidence, uncertain)


_OF_ATTEMPTS: Final = (
    "approval.consumed", "action.attempted", "action.result", "action.reconciled",
    "target.received", "target.accepted", "target.rejected",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Known:
    """What is on record of one attempt; `changed` is None where nobody can tell."""

    sent: bool
    outcome: str
    logged: str
    reconciled: str
    changed: bool | None
    undone: bool
    reads: Sequence[Record]


def _known(found: Gathered, own: Sequence[Record]) -> _Known:
    by_kind = {record.kind: record for record in own}
    sent = by_kind.get("action.attempted")
    logged = [kind for kind in ("target.accepted", "target.rejected") if kind in by_kind]
    reads = _reads(found, sent)
    before = [read_digest(one) for one in reads if text(one, "moment") == "before"]
    since = [read_digest(one) for one in reads if text(one, "moment") != "before"]
    base = before[-1] if before else ""
    told = [digest != base for digest in since if digest and base]
    return _Known(
        sent is not None,
        text(by_kind.get("action.result"), "outcome"),
        logged[0].removeprefix("target.") if logged else "",
        text(by_kind.get("action.reconciled"), "state"),
        told[-1] if told and since[-1] else None,
        len(told) > 1 and any(told) and not told[-1],
        reads,
    )


def _reads(found: Gathered, sent: Record | None) -> list[Record]:
    """The reads of an attempt's target: the last before it was sent, and all since."""
    if sent is None:
        return []
    place = found.place(sent.source, sent.order)
    own = [one for one in found.of("target.read") if text(one, "target") == text(sent, "target")]
    before = [one for one in own if found.place(one.source, one.order) < place]
    since = [one for one in own if found.place(one.source, one.order) > place]
    return [*before[-1:], *since]


def _reached_by(known: _Known) -> tuple[Reached, str]:
    if known.reconciled:
        return _reached_as_reconciled(known)
    if not known.sent:
        return "unknown", "is named, and no record says that it was sent"
    if known.undone:
        return "undone", "changed the target, and the last read shows it as it was before"
    if known.outcome == "accepted":
        return _reached_as_accepted(known)
    if known.logged == "accepted":
        return "partly", "was accepted by the target, and the runner was not told"
    if known.outcome == "rejected":
        return _reached_as_rejected(known)
    if known.changed:
        return "partly", "was not answered, and the target is not as it was before"
    return "unknown", "was sent, and nobody knows what it did"


def _reached_as_reconciled(known: _Known) -> tuple[Reached, str]:
    match known.reconciled:
        case "applied" if known.outcome == "accepted":
            return "applied", "was applied, as reconciling found"
        case "applied":
            return "partly", "was applied, as reconciling found, and the run did not go on from it"
        case "partly applied":
            return "partly", "was applied in part, as reconciling found"
        case "not applied" if not known.changed:
            return "not", "was not applied, as reconciling found"
        case "not applied":
            return "unknown", "was not applied, it was said, and the target has changed"
    return "unknown", "could not be reconciled"


def _reached_as_accepted(known: _Known) -> tuple[Reached, str]:
    if known.changed or (known.changed is None and known.logged == "accepted"):
        return "applied", "was accepted, and the target shows it"
    if known.changed is None:
        return "unknown", "was accepted, and no independent read shows what became of the target"
    return "unknown", "was accepted, and the target is as it was before"


def _reached_as_rejected(known: _Known) -> tuple[Reached, str]:
    if known.changed is None:
        return "unknown", "was rejected, and no independent read shows that nothing changed"
    if known.changed:
        return "partly", "was rejected, and the target is not as it was before"
    return "not", "was rejected, and the target is as it was before"
