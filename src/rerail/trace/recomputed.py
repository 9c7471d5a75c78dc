"""The verdict that follows from the recorded checks, worked out anew, by no rule of the checker's.

A verdict is PASS where all that is on record speaks for the proposal. What is not on record speaks
neither way: then nobody can say.
"""

from collections.abc import Iterator, Sequence

from rerail.trace.gathered import Gathered
from rerail.trace.record import Record, text

_OF_CHECKS = ("check.started", "check.ended", "check.result", "baseline.loaded")


def recomputed(found: Gathered, verdict: Record) -> tuple[str, str, list[Record]]:
    """PASS, STOP or nothing, why, and the records that decide it."""
    records = records_of(found, verdict)
    against = next(_against(found, verdict, records), None)
    if against is not None:
        why, record = against
        return "STOP", why, [record]
    if not records and not verdict.fields.get("checks") and verdict.source in found.whole:
        return "STOP", "no check was run", []
    lacking = _lacking(verdict, records)
    if lacking:
        return "", lacking, []
    passed = [record for record in records if text(record, "outcome") == "passed"]
    return "PASS", f"{len(passed)} cases passed, and none failed", passed


def records_of(found: Gathered, verdict: Record) -> list[Record]:
    """The records of the checks that a verdict names: its own source's, all where it names none."""
    numbers = verdict.fields.get("checks") or ()
    return [
        record
        for record in found.of(*_OF_CHECKS)
        if record.source == verdict.source
        and (not numbers or record.fields.get("check_id") in numbers)
        and (record.kind != "baseline.loaded" or record.fields.get("reported"))
    ]


def _against(
    found: Gathered, verdict: Record, records: Sequence[Record]
) -> Iterator[tuple[str, Record]]:
    """What speaks against the proposal, the most telling first."""
    ref = text(verdict, "proposal_ref")
    for made in found.of("proposal.made"):
        counts = [made.fields.get(name) for name in ("added", "changed", "removed")]
        if text(made, "proposal_ref") == ref and not any(counts):
            yield "nothing was proposed", made
    for kind in ("check.started", "check.result", "baseline.loaded", "check.ended"):
        for record in records:
            if record.kind == kind and (why := speaks_against(record)):
                yield why, record
    yield from _wavering(records)


def speaks_against(record: Record) -> str:
    """Why one record of a check keeps a proposal from passing; empty where it does not."""
    match record.kind:
        case "check.result" if text(record, "outcome") in ("failed", "error"):
            protected = "protected " if record.fields.get("protected") else ""
            return f"{protected}case {text(record, 'name')} {text(record, 'outcome')}"
        case "check.started" if text(record, "read_ref") != text(record, "proposal_ref"):
            return "the checker read another proposal"
        case "baseline.loaded" if text(record, "version") != text(record, "wanted_version"):
            return f"the checker went by baseline {text(record, 'version')}"
        case "check.ended":
            return _bad_end(record)
    return ""


def _bad_end(record: Record) -> str:
    if record.fields.get("timed_out"):
        return "the check did not end in its time"
    if text(record, "problem"):
        return f"what the check found cannot be read: {text(record, 'problem')}"
    if record.fields.get("signal"):
        return f"the checker was ended by signal {record.fields['signal']}"
    status = record.fields.get("status")
    return f"the checker ended with status {status}" if status else ""


def _wavering(records: Sequence[Record]) -> Iterator[tuple[str, Record]]:
    seen: dict[str, str] = {}
    for record in records:
        if record.kind == "check.result":
            outcome = seen.setdefault(text(record, "name"), text(record, "outcome"))
            if outcome != text(record, "outcome"):
                yield f"case {text(record, 'name')} wavers", record


def _lacking(verdict: Record, records: Sequence[Record]) -> str:
    """What of a verdict's checks is not on record, so that nothing is made of its absence."""
    kinds: dict[object, set[str]] = {number: set() for number in verdict.fields.get("checks") or ()}
    for record in records:
        kinds.setdefault(record.fields.get("check_id"), set()).add(record.kind)
    for number, seen in kinds.items():
        if "check.result" not in seen:
            return f"no result of check {number} is on record"
        if "check.ended" not in seen:
            return f"no record says how check {number} ended"
    return "" if kinds else "the results it was computed from are not on record"
