"""Does the investigation itself hold? Six points, each with what it was judged by.

What only others can do is given: whether a tape's bytes agree, what a test came to, the second
derivation. A point that nobody can judge does not hold: an investigation is not closed by silence.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from rerail.trace.case import Entry
from rerail.trace.diagnosis import Diagnosis
from rerail.trace.gathered import Gathered
from rerail.trace.link import Standing
from rerail.trace.needs import needs
from rerail.trace.safety import Safety

TestOutcome = Literal["passed", "failed", "shows nothing", "not run"]


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source as it is now: whether its file is there, is the one that was taken in, is intact."""

    name: str
    there: bool
    same: bool
    intact: bool


@dataclass(frozen=True, slots=True)
class Material:
    """All that the check is given.

    `unopened` are places of evidence that cannot be opened. `second` is where the second derivation
    found the first contradiction (`A e11`), empty for nowhere, None where it cannot be made.
    """

    entries: Sequence[Entry]
    found: Gathered
    diagnosis: Diagnosis
    safety: Safety
    sources: Sequence[SourceState]
    unopened: Sequence[str]
    second: str | None
    test: TestOutcome = "not run"


@dataclass(frozen=True, slots=True)
class Point:
    """One point: what is asked, how it stands, and why."""

    number: int
    asks: str
    standing: Standing
    because: str


def check(given: Material) -> list[Point]:
    """All six, in their order."""
    looks = (_reached_again, _told_apart, _recovery, _test, _final_state, _still_there)
    return [
        Point(number, asks, *look(given))
        for number, (asks, look) in enumerate(zip(_ASKED, looks, strict=True), 1)
    ]


_ASKED: Final = (
    "Do the evidence, a second way and a second person lead to the same first divergence?",
    "Does the report tell missing evidence from evidence of absence?",
    "Does the recovery address the first broken assumption?",
    "Does a negative test reproduce the failure, or prove that the guard refuses it?",
    "Is the last state of the target and of every approval on record?",
    "Is the failed run still there, and linked to its test?",
)
_Judged = tuple[Standing, str]


def first_place(diagnosis: Diagnosis) -> str:
    """Where the first divergence is: `A e11`; empty where it is not known."""
    if diagnosis.first is None or not diagnosis.first.evidence:
        return ""
    place = diagnosis.first.evidence[0]
    return f"{place.source} {place.ref}"


def _reached_again(given: Material) -> _Judged:
    if given.unopened:
        return "broken", f"evidence cannot be opened: {', '.join(given.unopened)}"
    altered = [source.name for source in given.sources if source.there and not source.intact]
    if altered:
        return "broken", f"the bytes of source {', '.join(altered)} do not agree with each other"
    first = first_place(given.diagnosis)
    if not first:
        return "cannot be checked", "no first divergence is known"
    if given.second is not None and given.second != first:
        return "broken", f"a second way leads to {given.second or 'nothing'}, not to {first}"
    reviewed = _review(given, first)
    if reviewed[0] == "holds" and given.second is None:
        return "holds", f"{reviewed[1]}; the second way does not reach what was said on a tape"
    return reviewed


def _review(given: Material, first: str) -> _Judged:
    """A second person's, from before there was a report to see."""
    reviews = [entry for entry in given.entries if entry.kind == "review"]
    if not reviews:
        return "cannot be checked", "not reviewed"
    authors = {entry.by for entry in given.entries if entry.kind in ("diagnosis", "report")}
    others = [entry for entry in reviews if entry.by not in authors]
    if not others:
        return "cannot be checked", f"{reviews[-1].by} reviewed what is also {reviews[-1].by}'s own"
    report = next((entry for entry in given.entries if entry.kind == "report"), None)
    unseen = [entry for entry in others if report is None or entry.number < report.number]
    if not unseen:
        return "cannot be checked", f"{others[-1].by} wrote when there was a report to see already"
    review = unseen[-1]
    theirs = f"{review.body['source']} {review.body['ref']}"
    if theirs != first:
        return "broken", f"{review.by} came to {theirs}, not to {first}"
    return "holds", f"{review.by} came to {theirs} too, before there was a report"


def _last(given: Material, kind: str) -> Mapping[str, Any] | None:
    return next((entry.body for entry in reversed(given.entries) if entry.kind == kind), None)


def _told_apart(given: Material) -> _Judged:
    report = _last(given, "report")
    if report is None:
        return "cannot be checked", "there is no report"
    named = " ".join(str(line.get("says", "")) for line in report["document"].get("missing", ()))
    lacking = [one.need.name for one in needs(given.found) if one.presence == "missing"]
    unsaid = [name for name in lacking if f"no record of {name}:" not in named]
    if unsaid:
        return "broken", f"the report does not say that {', '.join(unsaid)} is missing"
    open_absences = [
        one.asks
        for one in given.safety.questions
        if one.answer == "no" and not given.found.is_whole()
    ]
    if open_absences:
        return "broken", f"absence is taken for evidence: {open_absences[0]}"
    absent = [one.need.name for one in needs(given.found) if one.presence == "not called for"]
    return "holds", f"{len(lacking)} missing, all named; {len(absent)} not called for by any record"


def _recovery(given: Material) -> _Judged:
    report = _last(given, "report")
    first = first_place(given.diagnosis)
    if report is None:
        return "cannot be checked", "there is no report"
    if not first:
        return "cannot be checked", "no first divergence is known, so that nothing is to be mended"
    recovery = report["document"].get("recovery", {})
    if first not in recovery.get("evidence", ()):
        return "broken", f"the recovery is not for {first}: write the report again"
    if recovery.get("by"):
        return "holds", f"for {first}, as {recovery['by']} says"
    return "holds", f"for {first}, as is usual for a {given.diagnosis.classification} defect"


def _test(given: Material) -> _Judged:
    test = _last(given, "test")
    if test is None:
        return "cannot be checked", "there is no test yet"
    match given.test:
        case "passed":
            return "holds", f"{test['path']} proves that today the recorded failure is avoided"
        case "failed":
            return "holds", f"{test['path']} reproduces the failure"
        case "shows nothing":
            why = "the replay does not come to the failure, or the test fails on something else"
            return "broken", f"{test['path']} shows nothing about the failure: {why}"
    return "cannot be checked", f"{test['path']} was not run, or could not be"


def _final_state(given: Material) -> _Judged:
    if given.safety.state == "unresolved":
        return "broken", f"the safety state is unresolved: {given.safety.because}"
    for number in (0, 2, 4):
        question = given.safety.questions[number]
        if question.answer == "unknown":
            return "broken", f"{question.asks} {question.because}"
    return "holds", f"{given.safety.state}: {given.safety.because}"


def _still_there(given: Material) -> _Judged:
    for wrong in _changed(given.sources):
        return "broken", wrong
    if _last(given, "test") is None:
        return "cannot be checked", "it is there, and no test is linked to it"
    return "holds", "it is there, unchanged, and linked to its test"


def _changed(sources: Sequence[SourceState]) -> Iterator[str]:
    for source in sources:
        if not source.there:
            yield f"source {source.name} is not there any more"
        elif not source.same:
            yield f"source {source.name} is not the file that was taken in"
