"""The checker: run on a folder made from the proposal, its words taken down, none of them believed.

It prints one JSON document (`docs/reference/contract.md`): the cases it tried, the baseline it went
by. What that adds up to is the verdict's business.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from rerail.launch.errand import Errand, run_errand
from rerail.sandbox.plane import Plane
from rerail.tape.event import Event
from rerail.tape.plane_records import (
    BaselineLoaded,
    CheckEnded,
    CheckResult,
    CheckStarted,
)
from rerail.task.account import Account
from rerail.task.contract import Contract, seconds, words
from rerail.task.trees import Contents, Proposed, make, read_back
from rerail.task.verdict import Fact

OUTCOMES: Final = {
    "passed": "passed", "pass": "passed", "ok": "passed", "failed": "failed", "fail": "failed",
    "error": "error", "skipped": "skipped", "skip": "skipped",
}  # fmt: skip


class _Case(Struct, frozen=True):
    name: str
    outcome: str
    protected: bool = False
    detail: str = ""
    tests: str = ""


class _Baseline(Struct, frozen=True):
    name: str = ""
    version: str | int = ""
    digest: str = ""


class Report(Struct, frozen=True):
    """What a checker prints."""

    results: list[_Case]
    baseline: _Baseline | None = None
    proposal: str = ""


class Bench(Struct, frozen=True):
    """What one check is run with: the contract, where, in what sandbox, with what environment.

    `folder` gives an empty folder by name; `plane` makes a sandbox that may write in it.
    """

    contract: Contract
    home: Path
    baseline: Path
    baseline_digest: bytes
    folder: Callable[[str], Path]
    plane: Callable[[Path], Plane]
    environment: dict[str, str] = field(default_factory=dict)


def check(account: Account, bench: Bench, proposed: Proposed, contents: Contents) -> list[Fact]:
    """Run the checker as often as the contract says; returns the facts put on the tape."""
    facts: list[Fact] = []
    for number in range(1, bench.contract.checker.repeat + 1):
        _Check(account, bench, proposed, number, facts).run(contents)
    return facts


class _Check:
    """One run of the checker."""

    def __init__(
        self, account: Account, bench: Bench, proposed: Proposed, number: int, facts: list[Fact]
    ) -> None:
        self._account = account
        self._bench = bench
        self._proposed = proposed
        self._number = number
        self._facts = facts

    def run(self, contents: Contents) -> None:
        bench, checker = self._bench, self._bench.contract.checker
        place = bench.folder(f"check-{self._number}")
        tree = place / "proposal"
        tree.mkdir(mode=0o700)
        make(self._proposed.after.tree, tree, contents)
        argv = words(checker.command, str(bench.home))
        self._note(
            CheckStarted,
            check_id=self._number,
            proposal_ref=self._proposed.ref,
            read_ref=read_back(tree, self._proposed.base.tree),
            argv=argv,
            version=checker.version,
            folder=str(tree),
        )
        self._account.kept()
        done = run_errand(
            argv,
            cwd=bench.home,
            environment=self._environment(place, tree),
            seconds=seconds(checker.time),
            sandbox=bench.plane(place),
            alone=True,
        )
        self._take_down(done)

    def _environment(self, place: Path, tree: Path) -> dict[str, str]:
        return self._bench.environment | {
            "HOME": str(place),
            "TMPDIR": str(place),
            "RERAIL_PROPOSAL": str(tree),
            "RERAIL_PROPOSAL_REF": f"sha256:{self._proposed.ref.hex()}",
            "RERAIL_BASELINE": str(self._bench.baseline),
            "RERAIL_BASELINE_NAME": self._bench.contract.baseline.name,
            "RERAIL_BASELINE_VERSION": self._bench.contract.baseline.version,
        }

    def _take_down(self, done: Errand) -> None:
        report, problem = read_report(done)
        reported = report.proposal if report else ""
        self._note(
            CheckEnded,
            check_id=self._number,
            output=self._account.said(done.output),
            errors=self._account.said(done.errors),
            reported_ref=_digest(reported),
            problem=problem,
            left=list(done.left),
            **self._account.outcome(done),
        )
        if report is None:
            return
        if report.baseline is not None:
            self._baseline(report.baseline)
        for case in report.results:
            self._note(
                CheckResult,
                check_id=self._number,
                name=case.name,
                outcome=OUTCOMES[case.outcome.lower()],
                protected=case.protected,
                detail=case.detail,
                tests=case.tests,
            )

    def _baseline(self, said: _Baseline) -> None:
        wanted = self._bench.contract.baseline
        self._note(
            BaselineLoaded,
            name=said.name or wanted.name,
            version=str(said.version),
            digest=_digest(said.digest),
            wanted_version=wanted.version,
            wanted_digest=self._bench.baseline_digest,
            reported=True,
            check_id=self._number,
        )

    def _note(self, kind: type[Event], **fields: Any) -> None:
        self._account.note(kind, "checker", **fields)
        fact = kind(at=0, wall=0, **fields)
        assert isinstance(fact, CheckStarted | CheckEnded | CheckResult | BaselineLoaded)
        self._facts.append(fact)


def read_report(done: Errand) -> tuple[Report | None, str]:
    """What a checker printed, or why it cannot be read."""
    if done.timed_out:
        return None, "it timed out"
    if done.cut:
        return None, "it said more than is kept"
    try:
        report = msgspec.json.decode(done.output, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return None, f"its output is no report: {error}"
    wrong = next((case for case in report.results if case.outcome.lower() not in OUTCOMES), None)
    if wrong is not None:
        return None, f"the case `{wrong.name}` has the outcome `{wrong.outcome}`"
    if _digest(report.proposal) == b"" and report.proposal:
        return None, f"the proposal `{report.proposal}` is no digest"
    return report, ""


def _digest(text: str) -> bytes:
    try:
        found = bytes.fromhex(text.removeprefix("sha256:"))
    except ValueError:
        return b""
    return found if len(found) == 32 else b""
