"""Which places of a run to look at first: where several detectors speak, those that blame first.

An order to read in, and no verdict: that the first place is the cause is not claimed.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from rerail.trace.finding import Finding


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place of a run and all that was noticed there; `findings[0]` speaks for it."""

    source: str
    order: int
    findings: tuple[Finding, ...]

    @property
    def detectors(self) -> int:
        """How many detectors speak of this place."""
        return len({finding.detector for finding in self.findings})


def candidates(findings: Iterable[Finding]) -> list[Candidate]:
    """The places that findings point to, the ones to look at first before the others.

    First those with a finding that is no context and blames somebody; of these, where most
    detectors speak; of those, the earlier.
    """
    places: dict[tuple[str, int], list[Finding]] = defaultdict(list)
    for finding in findings:
        places[_source(finding), finding.order].append(finding)
    found = [
        Candidate(source, order, tuple(sorted(there, key=_weight)))
        for (source, order), there in places.items()
    ]
    return sorted(found, key=_rank)


def _rank(candidate: Candidate) -> tuple[int, int, int]:
    blaming = {one.detector for one in candidate.findings if _blames(one)}
    return _weight(candidate.findings[0])[0], -len(blaming), candidate.order


def _weight(finding: Finding) -> tuple[int, bool]:
    """A missing record blames nobody, and context does not."""
    if finding.tier == "context":
        return 2, True
    return int(finding.missing), not finding.contradicts


def _blames(finding: Finding) -> bool:
    return finding.tier != "context" and not finding.missing


def _source(finding: Finding) -> str:
    return finding.evidence[0].source if finding.evidence else ""
