"""Goes on with what a run left: checks its proposal again, or applies it.

No agent runs. Each makes a tape of its own, which names the run and the tape that it follows; that
tape is only read.
"""

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rerail.capture.keeping import Keeping, RunFacts
from rerail.errors import NotOnTape, RerailError, UsageProblem
from rerail.holds import Holds
from rerail.launch.child import Ending
from rerail.launch.errand import must_be_possible
from rerail.proxy.certs import Authority, default_folder
from rerail.tape.event import Event
from rerail.tape.plane_records import (
    CleanupDone,
    TaskAccepted,
    TaskEnded,
    TaskFollows,
)
from rerail.tape.reader import Tape
from rerail.task.account import Account
from rerail.task.agent_plane import Layout
from rerail.task.approval import Person, read_policy
from rerail.task.contract import Contract, differences, words
from rerail.task.place import Place
from rerail.task.runner import CREDENTIAL_VARIABLE, Done, Read, note_proposal, read_contract
from rerail.task.sensor import load_baseline
from rerail.task.stored import Stored, made_on, read_run, trees_on
from rerail.task.target import secret_of
from rerail.task.trees import Proposed, make, propose_again
from rerail.task.verdict_plane import (
    Desk,
    Ended,
    apply_proposal,
    cut_short,
    judge_proposal,
    withdraw_unused,
)

Relation = Literal["recheck", "apply", "reconcile"]


class FollowSettings(Struct, frozen=True):
    """Which run is followed, onto which tape; `contract` stands for the one on the tape."""

    source: Path
    tape: Path
    environment: Mapping[str, str]
    contract: Path | None = None
    person: Person | None = None
    overwrite: bool = False
    log: Callable[[Event], None] | None = None


def recheck(settings: FollowSettings) -> Done:
    """Check a stored proposal again, with the checker and the baseline as they are now."""
    return _follow(settings, "recheck", lambda following: following.judge())


def apply_stored(settings: FollowSettings, approval_id: str = "") -> Done:
    """Apply a stored proposal that passed, by an approval or by asking anew."""
    return _follow(settings, "apply", lambda following: following.apply(approval_id))


def _follow(
    settings: FollowSettings, relation: Relation, work: "Callable[[_Following], Done]"
) -> Done:
    must_be_possible()
    with Tape.open(settings.source) as tape, Holds.open(settings.environment) as holds:
        stored = read_run(tape)
        read = _contract_for(settings, stored)
        if relation == "apply":
            holds.refuse_if_held(read.contract.task)
            _must_have_passed(stored, read.contract)
            _must_be_the_same(stored, read)
        following = _Following(settings, relation, tape, stored, read, holds)
        return following.go(work)


def _must_have_passed(stored: Stored, contract: Contract) -> None:
    if contract.target is None:
        raise UsageProblem(
            "the contract names no target", hint="add `target`, or be content with the verdict"
        )
    if not stored.passed:
        said = stored.verdict.verdict if stored.verdict else "none"
        raise UsageProblem(
            f"the verdict on {stored.path} is {said}: nothing is applied without a PASS",
            hint="`rerail run --recheck` works it out anew",
        )


def _must_be_the_same(stored: Stored, read: Read) -> None:
    """The PASS, and whatever is approved, is of the contract on the tape, and of no other."""
    if found := differences(stored.contract, read.contract):
        raise UsageProblem(
            f"{read.name} is not the contract by which {stored.path} passed: "
            f"it differs in {', '.join(found)}",
            hint="put it back as it was, or check the proposal by it: `rerail run --recheck`",
        )


def _must_be_its_baseline(stored: Stored, digest: bytes) -> None:
    if stored.baseline not in (b"", digest):
        raise UsageProblem(
            f"the baseline `{stored.contract.baseline.name}` is not the one by which "
            f"{stored.path} passed: its content is another",
            hint="put it back as it was, or check the proposal by it: `rerail run --recheck`",
        )


def _contract_for(settings: FollowSettings, stored: Stored) -> Read:
    """The contract as it is now: its folder holds the checker, the baseline, the commands."""
    if settings.contract is None:
        raise UsageProblem(
            "there is no contract",
            hint=f"name the file of {stored.contract.task}, {stored.accepted.source}",
        )
    read = read_contract(settings.contract)
    if read.contract.task != stored.contract.task:
        raise UsageProblem(
            f"{settings.contract} is the contract of {read.contract.task}, "
            f"and the tape is a run of {stored.contract.task}",
            hint="name the contract of that task",
        )
    return read


class _Following:
    """One tape that follows another."""

    def __init__(
        self,
        settings: FollowSettings,
        relation: Relation,
        source: Tape,
        stored: Stored,
        read: Read,
        holds: Holds,
    ) -> None:
        self._settings = settings
        self._relation = relation
        self._source = source
        self._stored = stored
        self._read = read
        self._holds = holds
        self._run_id = f"run-{secrets.token_hex(6)}"
        self._done = Done(
            settings.tape, "", self._run_id, read.contract.task, Ended("stopped", "not finished")
        )

    def go(self, work: "Callable[[_Following], Done]") -> Done:
        contract, home = self._read.contract, self._read.home
        secret = ""
        if contract.target is not None and self._relation == "apply":
            secret = secret_of(contract.target, home, self._settings.environment)
            read_policy(contract, home)
        self._place = Place(self._settings.environment, self._run_id)
        argv = words(contract.checker.command, str(home))
        try:
            keeping = begin_tape(self._settings, argv, home, self._run_id, contract, secret)
        except BaseException:
            with suppress(OSError):
                self._place.remove(keep_workspace=False)
            raise
        self._account = Account(keeping.recorder)
        try:
            self._begun()
            self._done = work(self)
        except BaseException as error:
            ended = cut_short(self._holds, self._run_id, error)
            self._done = replace(self._done, ended=ended)
            if not isinstance(error, RerailError) or ended.state == "unresolved":
                raise
            self._done = replace(self._done, ended=Ended("not started", error.what), problem=error)
        finally:
            self._clean_up()
            kept = keeping.close(Ending(self._done.status), self._done.ended.state)
        if kept.failed is not None:
            raise kept.failed
        return replace(self._done, tape_id=kept.tape_id)

    def judge(self) -> Done:
        """The verdict, anew."""
        proposed = self._proposed()
        judged = judge_proposal(self._desk(), proposed)
        passed = judged.verdict == "PASS"
        ended = Ended("checked") if passed else Ended("stopped", f"STOP by {judged.rule}")
        return replace(
            self._done, ended=ended, verdict=judged.verdict, rule=judged.rule, detail=judged.detail
        )

    def apply(self, approval_id: str) -> Done:
        """Its one use of an approval."""
        return replace(
            self._done, ended=apply_proposal(self._desk(), self._proposed(), by=approval_id)
        )

    def _begun(self) -> None:
        note_followed(self._account, self._stored, self._relation)
        self._account.note(
            TaskAccepted,
            "runner",
            task_id=self._read.contract.task,
            version=self._read.contract.version,
            contract=self._account.document(self._read.content),
            source=self._read.name,
        )
        self._account.kept()
        self._baseline = load_baseline(
            self._account, self._read.contract.baseline, self._read.home
        ).content
        if self._relation == "apply":
            _must_be_its_baseline(self._stored, self._account.blob(self._baseline))

    def _proposed(self) -> Proposed:
        """The stored proposal, put onto this tape too, unchanged."""
        made = made_on(self._stored)
        folders = [self._place.own(name) for name in ("base", "after")]
        for tree, folder in zip(trees_on(self._source, made), folders, strict=True):
            make(tree, folder, self._source.blob_stream)
        proposed = propose_again(self._account.recorder, *folders)
        if proposed.ref != made.proposal_ref:
            raise NotOnTape(
                f"the proposal on {self._stored.path} cannot be made again as it was",
                hint="`rerail verify` says whether the tape is intact",
            )
        note_proposal(self._account, proposed)
        self._done = replace(self._done, proposal_ref=f"sha256:{proposed.ref.hex()}")
        return proposed

    def _desk(self) -> Desk:
        contract, home = self._read.contract, self._read.home
        layout = Layout(
            contract, home, self._place, self._settings.tape, self._settings.environment
        )
        return Desk(
            account=self._account,
            holds=self._holds,
            contract=contract,
            home=home,
            environment=self._settings.environment,
            place=self._place,
            tape=self._settings.tape,
            run_id=self._run_id,
            baseline=self._baseline,
            hidden=layout.hidden(),
            shown=layout.checkers_programs(),
            person=self._settings.person,
        )

    def _clean_up(self) -> None:
        ended = self._done.ended
        if ended.state != "waiting":
            withdraw_unused(self._account, self._holds, self._run_id)
        reason = ""
        try:
            self._place.remove(keep_workspace=False)
        except OSError as error:
            reason = f"{error.strerror}: {error.filename}"
        self._account.note(
            CleanupDone,
            "applier",
            folder=str(self._place.agent),
            outcome="failed" if reason else "removed",
            reason=reason,
        )
        self._account.note(TaskEnded, "runner", state=ended.state, reason=ended.reason)


def begin_tape(
    settings: FollowSettings,
    argv: list[str],
    home: Path,
    run_id: str,
    contract: Contract,
    secret: str,
) -> Keeping:
    """A tape on which no agent runs."""
    known = {CREDENTIAL_VARIABLE: secret} if secret else {}
    environment = {**settings.environment, **known}
    authority = Authority.open_or_create(default_folder(environment))
    keeping = Keeping(
        settings.tape,
        environment,
        witness_key=authority.witness_key,
        overwrite=settings.overwrite,
        log=settings.log,
    )
    capture = {"http": "no: no agent runs", "workspace": "no: no agent runs"}
    keeping.started(RunFacts(argv, home, capture, {}, run_id, contract.task))
    return keeping


def note_followed(account: Account, stored: Stored, relation: Relation) -> None:
    """Say which run this goes on with."""
    account.note(
        TaskFollows,
        "runner",
        run_id=stored.run_id,
        tape_id=stored.tape_id,
        relation=relation,
    )
    account.kept()
