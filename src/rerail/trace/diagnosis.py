"""The first broken assumption that evidence supports, or the candidates, or that nobody can say.

Named only where a finding of the first two tiers contradicts a stated input: "the earliest finding
is the cause" was measured on real failed runs, and is wrong. A broken link comes before everything:
then the agent's reasoning is not read. A missing record blames nobody.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rerail.trace.assumptions import assumptions
from rerail.trace.detect.ranking import candidates as ranked
from rerail.trace.finding import Category, Finding
from rerail.trace.gathered import Gathered
from rerail.trace.link import Link
from rerail.trace.needs import missing

Classification = Category | Literal["unresolved"]

_OF_CHECKS: Final = frozenset(("rule-broken", "rule-not-given", "case-failed"))
_NOT_REPLIES: Final = frozenset(
    ("missing-record", "not-captured", "outcome-unrecorded", "source-gap")
)
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was decided, and all it was decided from.

    `first` is the first broken assumption, None where the evidence does not decide. `orchestration`
    says that a link is broken: the trace or what ran it is at fault. `later` are findings behind
    the first, `candidates` those among which nothing decides, the most telling first; `unread` are
    findings about the agent that a broken link keeps from being read.
    """

    classification: Classification
    first: Finding | None
    because: str
    orchestration: bool
    later: tuple[Finding, ...] = ()
    candidates: tuple[Finding, ...] = ()
    unread: tuple[Finding, ...] = ()
    context: tuple[Finding, ...] = ()
    missing: tuple[Finding, ...] = ()

    @property
    def everything(self) -> tuple[Finding, ...]:
        """Every finding it was made of."""
        first = (self.first,) if self.first else ()
        return (
            *first, *self.later, *self.candidates, *self.unread, *self.context, *self.missing
        )  # fmt: skip


def diagnose(found: Gathered, links: Sequence[Link], detected: Iterable[Finding]) -> Diagnosis:
    """Walk forward from the contract. `detected` are the detectors' findings."""
    place = _placer(found)
    noticed = sorted([*missing(found), *assumptions(found), *detected], key=place)
    sorted_out = _Sorted(
        links=links,
        broken=sorted((one for link in links for one in link.broken), key=place),
        telling=[one for one in noticed if not one.missing and one.tier != "context"],
        context=tuple(one for one in noticed if not one.missing and one.tier == "context"),
        missing=tuple(one for one in noticed if one.missing),
        place=place,
    )
    return sorted_out.of_broken_links() if sorted_out.broken else sorted_out.of_findings()


_Place = Callable[[Finding], tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The findings by what they can say, each list in the order of the run."""

    links: Sequence[Link]
    broken: list[Finding]
    telling: list[Finding]
    context: tuple[Finding, ...]
    missing: tuple[Finding, ...]
    place: _Place

    def of_broken_links(self) -> Diagnosis:
        """The earliest broken link, or what stands before it and is not the agent's reasoning."""
        unread = [one for one in self.telling if one.category == "agent" or _rests_on_checks(one)]
        read = [one for one in self.telling if one not in unread]
        stated = [one for one in read if one.contradicts]
        first = min([*self.broken, *stated], key=self.place)
        later = sorted([one for one in [*self.broken, *read] if one is not first], key=self.place)
        return Diagnosis(
            first.category,
            first,
            "a link between records is broken, so that the agent's reasoning is not read",
            True,
            tuple(later),
            unread=tuple(unread),
            context=self.context,
            missing=self.missing,
        )

    def of_findings(self) -> Diagnosis:
        uncheckable = ""
        if any(map(_rests_on_checks, self.telling)):
            uncheckable = self._uncheckable() or self._wavering()
        stated = [
            one
            for one in self.telling
            if one.contradicts and not (uncheckable and _rests_on_checks(one))
        ]
        if not stated:
            return self._unresolved(uncheckable or "no finding contradicts what was stated")
        first = stated[0]
        unanswered = self._unanswered_before(first)
        if unanswered is not None:
            return self._unresolved(f"a record before it is missing: {unanswered.what}")
        because = f"it contradicts what was stated: {first.contradicts}"
        absent = [one for one in self.missing if one.detector == "missing-record"]
        earlier = [one for one in absent if self.place(one) <= self.place(first)]
        if earlier:
            because += f"; an earlier one cannot be excluded: {_named(earlier)}"
        later = tuple(one for one in self.telling if one is not first)
        return Diagnosis(
            first.category, first, because, False, later, context=self.context, missing=self.missing
        )

    def _unresolved(self, because: str) -> Diagnosis:
        if self.missing:
            because += f"; missing: {_named(self.missing)}"
        places = ranked(self.telling)
        candidates = [finding for place in places for finding in place.findings]
        candidates.sort(key=lambda one: not one.contradicts)
        return Diagnosis(
            "unresolved",
            None,
            because if self.telling else f"nothing was noticed; {because}",
            False,
            candidates=tuple(candidates),
            context=self.context,
            missing=self.missing,
        )

    def _uncheckable(self) -> str:
        """Why what a check found cannot be held against the proposal; empty where it can."""
        open_links = [
            link for link in self.links if link.number in (1, 2) and link.standing != "holds"
        ]
        if not open_links:
            return ""
        link = open_links[0]
        return f"what was checked, against what, is not on record: {link.because}"

    def _wavering(self) -> str:
        """What is wrong with a check itself, so that its results say nothing of the proposal."""
        own = (one for one in self.telling if one.category == "check" and one.contradicts)
        return next((one.what for one in own), "")

    def _unanswered_before(self, first: Finding) -> Finding | None:
        """A tool's reply that is not on record is not made up: it may be what broke first."""
        before = (one for one in self.missing if one.detector not in _NOT_REPLIES)
        return next((one for one in before if self.place(one) < self.place(first)), None)


def _named(absent: Sequence[Finding]) -> str:
    names = [one.what.partition(":")[0] for one in absent[:_SHOWN]]
    more = len(absent) - _SHOWN
    return ", ".join([*names, f"and {more} more"] if more > 0 else names)


def _rests_on_checks(finding: Finding) -> bool:
    return finding.detector in _OF_CHECKS


def _placer(found: Gathered) -> _Place:
    def place(finding: Finding) -> tuple[int, int, str]:
        source = finding.evidence[0].source if finding.evidence else ""
        return (*found.place(source, finding.order), finding.detector)

    return place
