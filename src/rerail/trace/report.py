"""The failure report: short, and every conclusion with the records that it rests on.

A document of plain values, made from what the case came to. How it is written is `report_forms`'.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rerail.trace.assumptions import read_digest
from rerail.trace.categories import ADVICE
from rerail.trace.diagnosis import Diagnosis
from rerail.trace.final import FinalState
from rerail.trace.finding import Evidence, Finding
from rerail.trace.gathered import Gathered, at
from rerail.trace.link import Link
from rerail.trace.record import short, text
from rerail.trace.safety import Safety

ORCHESTRATION: Final = "trace or orchestration defect first"
_LATER_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One conclusion: what it says, and the records it rests on. `by` is set where a person says
    so, and not the records."""

    name: str
    says: str
    evidence: tuple[Evidence, ...] = ()
    by: str = ""

    def values(self) -> dict[str, Any]:
        """As plain values."""
        document: dict[str, Any] = {"says": self.says}
        if self.evidence:
            places = dict.fromkeys(f"{place.source} {place.ref}" for place in self.evidence)
            document["evidence"] = list(places)
        return document | ({"by": self.by} if self.by else {})


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says in place of what the category usually calls for; empty for nothing."""

    by: str = ""
    recovery: str = ""
    prevention: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report."""

    final: FinalState
    question: str
    lines: tuple[Line, ...]
    links: tuple[Line, ...]
    safety: tuple[Line, ...]
    missing: tuple[Line, ...]
    later: tuple[Line, ...]
    competing: tuple[Line, ...]

    def values(self) -> dict[str, Any]:
        """As one document of plain values."""
        document: dict[str, Any] = {
            "run_id": self.final.run_id,
            "task_id": self.final.task_id,
            "question": self.question,
        }
        document |= {line.name: line.values() for line in self.lines}
        for name in ("links", "safety", "missing", "later", "competing"):
            lines: Sequence[Line] = getattr(self, name)
            if lines:
                document[name] = [{"about": line.name} | line.values() for line in lines]
        return document

    def evidence(self) -> list[Evidence]:
        """Every place that any line rests on, once, in the order of mention."""
        parts = (self.lines, self.links, self.safety, self.missing, self.later, self.competing)
        places = (place for part in parts for line in part for place in line.evidence)
        return list({(place.source, place.ref): place for place in places}.values())


def report(
    found: Gathered,
    links: Iterable[Link],
    diagnosis: Diagnosis,
    safety: Safety,
    final: FinalState,
    *,
    question: str,
    said: Said,
) -> Report:
    """Put it together. What no record shows rests on the last one: up to there all were read."""
    last = found.last("run.ended") or found.last("run.lost")
    end = (at(last),) if last is not None else tuple(map(at, found.deciding[-1:]))
    return Report(
        final=final,
        question=question,
        lines=tuple(_lines(found, diagnosis, safety, final, said)),
        links=tuple(
            Line(link.question, f"{link.standing}: {link.because}", link.evidence or end)
            for link in links
        ),
        safety=tuple(
            Line(one.asks, f"{one.answer}: {one.because}", one.evidence or end)
            for one in safety.questions
        ),
        missing=tuple(map(_finding, diagnosis.missing)),
        later=tuple(map(_finding, (*diagnosis.later, *diagnosis.candidates)[:_LATER_SHOWN])),
        competing=tuple(
            Line(
                f"{one.one.kind} and {one.other.kind}",
                f"either may stand first; to tell them apart: {one.tells_apart}",
                (at(one.one), at(one.other)),
            )
            for one in found.competing
        ),
    )


def _lines(
    found: Gathered, diagnosis: Diagnosis, safety: Safety, final: FinalState, said: Said
) -> Iterator[Line]:
    first = diagnosis.first
    evidence = first.evidence if first else ()
    yield Line("classification", _classification(diagnosis), evidence)
    if first is not None:
        contradicts = f"; stated: {first.contradicts}" if first.contradicts else ""
        yield Line("first_divergence", f"{first.what}{contradicts}", evidence)
    else:
        yield Line("first_divergence", f"not known: {diagnosis.because}")
    yield _impact(safety, final)
    yield from _advice(diagnosis, said)
    yield Line("status", safety.state, tuple(_of_safety(safety)))
    yield from _escalation(found, safety)
    yield from _instrumentation(diagnosis, evidence)


def _classification(diagnosis: Diagnosis) -> str:
    if diagnosis.classification == "unresolved":
        return "unresolved"
    more = f" ({ORCHESTRATION})" if diagnosis.orchestration else ""
    return f"{diagnosis.classification} defect{more}"


def _impact(safety: Safety, final: FinalState) -> Line:
    reached = safety.questions[0]
    says = f"live action: {final.live_action}; {reached.because}; workspace: {final.workspace}"
    return Line("impact", says, (*reached.evidence, *safety.questions[1].evidence))


def _advice(diagnosis: Diagnosis, said: Said) -> Iterator[Line]:
    """What the category calls for, or what a person says instead."""
    advice = None
    if diagnosis.classification != "unresolved":
        advice = ADVICE[diagnosis.classification]
    evidence = diagnosis.first.evidence[:1] if diagnosis.first else ()
    for name in ("recovery", "prevention", "owner"):
        own = getattr(said, name)
        usual = getattr(advice, name) if advice else "not before the first divergence is known"
        yield Line(name, own or usual, evidence, said.by if own else "")


def _of_safety(safety: Safety) -> Iterator[Evidence]:
    places = (place for question in safety.questions for place in question.evidence)
    yield from {(place.source, place.ref): place for place in places}.values()


def _escalation(found: Gathered, safety: Safety) -> Iterator[Line]:
    """Whom to ask about the target, by which attempt, and what was known of it last."""
    if safety.questions[4].answer == "no":
        return
    contract = found.first("task.accepted")
    owner = text(contract, "owner") or "the target's owner (the contract names none)"
    attempts = [one.attempt_id for one in safety.attempts if one.uncertain]
    read = next((one for one in reversed(found.of("target.read")) if read_digest(one)), None)
    known = "no read of it is on record"
    if read is not None:
        known = f"read {text(read, 'moment')} as {short(read_digest(read))}"
    says = f"ask {owner} about {', '.join(attempts) or 'the requests that were not answered'}"
    places = tuple(at(record) for record in (contract, read) if record is not None)
    yield Line("escalation", f"{says}; last confirmed state: {known}", places)


def _instrumentation(diagnosis: Diagnosis, first: tuple[Evidence, ...]) -> Iterator[Line]:
    """What to record the next time, where this one does not decide, or cannot be made again."""
    wanted = [one.what for one in diagnosis.missing if one.detector == "missing-record"]
    if diagnosis.classification != "unresolved":
        wanted = [ADVICE[diagnosis.classification].record, *wanted]
    if wanted:
        places = dict.fromkeys(place for one in diagnosis.missing for place in one.evidence)
        yield Line("instrumentation", "; ".join(wanted[:_LATER_SHOWN]), first or tuple(places))


def _finding(finding: Finding) -> Line:
    name = "missing" if finding.missing else f"{finding.category}, {finding.tier}"
    return Line(name, finding.what, finding.evidence)
