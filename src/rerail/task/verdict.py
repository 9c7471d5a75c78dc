"""The verdict: what follows from the recorded checks, by rules in order. Pure, and nothing else.

Whoever has the events can work it out again, and must get the same. A checker never says whether a
proposal passes; it says what it found.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from rerail.tape.plane_records import (
    BaselineLoaded,
    CheckEnded,
    CheckResult,
    CheckStarted,
    Verdict,
)

NOTHING_PROPOSED: Final = "nothing proposed"
LINK_LEAVES: Final = "link leaves"
NO_CHECK: Final = "no check"
CHECK_UNREADABLE: Final = "check unreadable"
OTHER_PROPOSAL: Final = "other proposal"
CASE_WAVERS: Final = "case wavers"
CASE_FAILED: Final = "case failed"
CASE_SKIPPED: Final = "case skipped"
OTHER_BASELINE: Final = "other baseline"
STATUS: Final = "checker's status"
ALL_PASSED: Final = "all passed"

Fact = CheckStarted | CheckEnded | CheckResult | BaselineLoaded


class Judged(Struct, frozen=True):
    """A verdict, the rule that decided, what it saw, and the checks it rests on."""

    verdict: Verdict
    rule: str
    detail: str = ""
    checks: tuple[int, ...] = ()


def judge(
    facts: Iterable[Fact], *, proposal_ref: bytes, changes: int, leaving: Sequence[str] = ()
) -> Judged:
    """The verdict on a proposal of so many `changes`, from the facts about its checks.

    `leaving` are its links that lead out of it: who applies it would read what the agent could not.
    The first rule that stops it decides; where none does, it passes.
    """
    seen = _Seen(list(facts), proposal_ref)
    if not changes:
        return Judged("STOP", NOTHING_PROPOSED, "the workspace is as it was")
    for rule, detail in (
        (LINK_LEAVES, ", ".join(leaving)),
        (NO_CHECK, "" if seen.started else "no check was run"),
        (CHECK_UNREADABLE, seen.unreadable()),
        (OTHER_PROPOSAL, seen.other_proposal()),
        (CASE_WAVERS, seen.wavering()),
        (CASE_FAILED, seen.failed()),
        (CASE_SKIPPED, seen.skipped()),
        (OTHER_BASELINE, seen.other_baseline()),
        (STATUS, seen.bad_status()),
    ):
        if detail:
            return Judged("STOP", rule, detail, seen.checks)
    return Judged("PASS", ALL_PASSED, seen.counted(), seen.checks)


class _Seen:
    """The facts, by kind, and what each rule finds in them; "" for nothing."""

    def __init__(self, facts: Sequence[Fact], proposal_ref: bytes) -> None:
        self._ref = proposal_ref
        self.started = [fact for fact in facts if isinstance(fact, CheckStarted)]
        self.ended = [fact for fact in facts if isinstance(fact, CheckEnded)]
        self.results = [fact for fact in facts if isinstance(fact, CheckResult)]
        self._baselines = [
            fact for fact in facts if isinstance(fact, BaselineLoaded) and fact.reported
        ]
        self.checks = tuple(fact.check_id for fact in self.started)

    def unreadable(self) -> str:
        for started in self.started:
            number = started.check_id
            end = next((end for end in self.ended if end.check_id == number), None)
            if end is None:
                return f"check {number} has no end"
            if end.timed_out:
                return f"check {number} timed out"
            if end.signal:
                return f"check {number} was ended by signal {end.signal}"
            if end.problem:
                return f"check {number}: {end.problem}"
            if not any(result.check_id == number for result in self.results):
                return f"check {number} reports no case"
        return ""

    def other_proposal(self) -> str:
        for started in self.started:
            if {started.proposal_ref, started.read_ref} != {self._ref}:
                return f"check {started.check_id} read another proposal"
        for end in self.ended:
            if end.reported_ref not in (b"", self._ref):
                return f"check {end.check_id} says it read another proposal"
        return ""

    def wavering(self) -> str:
        outcomes: dict[str, set[str]] = {}
        for result in self.results:
            outcomes.setdefault(result.name, set()).add(result.outcome)
        counts = {name: [r.name for r in self.results].count(name) for name in outcomes}
        wavering = [
            name
            for name, found in outcomes.items()
            if len(found) > 1 or counts[name] < len(self.started)
        ]
        return ", ".join(wavering)

    def failed(self) -> str:
        names = dict.fromkeys(
            f"{'protected ' if result.protected else ''}{result.name}"
            for result in self.results
            if result.outcome in ("failed", "error")
        )
        return ", ".join(names)

    def skipped(self) -> str:
        """What no case has shown: a protected one was not tried, or none passed."""
        skipped = [result for result in self.results if result.outcome == "skipped"]
        protected = dict.fromkeys(f"protected {case.name}" for case in skipped if case.protected)
        if not protected and len(skipped) == len(self.results):
            return "no case passed"
        return ", ".join(protected)

    def counted(self) -> str:
        """How many of the cases passed, each counted once however often it was tried."""
        names = {result.name for result in self.results}
        passed = {result.name for result in self.results if result.outcome == "passed"}
        return f"{len(passed)} of {len(names)}"

    def other_baseline(self) -> str:
        for loaded in self._baselines:
            other_version = loaded.version != loaded.wanted_version
            known = bool(loaded.digest and loaded.wanted_digest)
            if other_version or (known and loaded.digest != loaded.wanted_digest):
                return (
                    f"check {loaded.check_id} went by {loaded.name} version {loaded.version}, "
                    f"not {loaded.wanted_version}"
                )
        return ""

    def bad_status(self) -> str:
        bad = next((end for end in self.ended if end.status), None)
        return f"check {bad.check_id} ended with status {bad.status}" if bad else ""
