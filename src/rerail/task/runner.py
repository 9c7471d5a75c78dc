"""The runner: one run of a task, both planes in order, on one tape; and its retries.

The contract and the baseline come first: what cannot be loaded as named starts nothing. The tape is
begun before the agent and ends after the cleanup.
"""

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from rerail.capture.folders import Folders
from rerail.capture.session import Recording, RecordSettings
from rerail.errors import RerailError, UsageProblem, UserError
from rerail.holds import Holds, StateUnusable
from rerail.launch.child import Child, Ending
from rerail.launch.errand import must_be_possible
from rerail.proxy.reach import UpstreamSettings
from rerail.tape.plane_records import (
    CleanupDone,
    ProposalMade,
    RetryDecided,
    TaskAccepted,
    TaskEnded,
    TaskFollows,
)
from rerail.tape.records import Event
from rerail.task import agent_plane, budget
from rerail.task.account import Account
from rerail.task.agent_plane import Layout, Prepared
from rerail.task.approval import Person, read_policy
from rerail.task.contract import Contract, parse
from rerail.task.place import Place
from rerail.task.sensor import load_baseline
from rerail.task.target import secret_of
from rerail.task.trees import Proposed, counted, propose
from rerail.task.verdict_plane import (
    Desk,
    Ended,
    apply_proposal,
    cut_short,
    judge_proposal,
    withdraw_unused,
)
from rerail.workspace.seen import Seen

EXIT: Final = {
    "applied": 0, "checked": 0, "stopped": 1, "waiting": 1, "refused": 1, "rejected": 1,
    "not started": 2, "unresolved": 3,
}  # fmt: skip
"""The exit status of `rerail run`, by how the run ended."""

CREDENTIAL_VARIABLE: Final = "RERAIL_TARGET_TOKEN"
"""The name under which the redactor knows the target's credential."""


class RunSettings(Struct, frozen=True):
    """What to run, onto which tape, with what environment, and who can be asked."""

    contract: Path
    tape: Path
    environment: Mapping[str, str]
    person: Person | None = None
    upstream: UpstreamSettings = field(default_factory=UpstreamSettings)
    overwrite: bool = False
    keep_workspace: bool = False
    run_id: str = ""
    log: Callable[[Event], None] | None = None


class Done(Struct, frozen=True):
    """A run that is over: its tape and ids, how it ended, the verdict if there was one."""

    tape: Path
    tape_id: str
    run_id: str
    task_id: str
    ended: Ended
    verdict: str = ""
    rule: str = ""
    detail: str = ""
    proposal_ref: str = ""
    workspace: str = ""
    problem: RerailError | None = None

    @property
    def status(self) -> int:
        """The exit status."""
        return EXIT[self.ended.state]


class Read(Struct, frozen=True):
    """A contract that was read: its bytes, what they say, and the folder they were found in."""

    content: bytes
    contract: Contract
    home: Path
    name: str


def read_contract(path: Path) -> Read:
    """Read a contract from its file. Raises UsageProblem."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageProblem(
            f"cannot read the contract {path}: {error.strerror}", hint="name a file that is there"
        ) from error
    return Read(content, parse(content, path.name), path.absolute().parent, path.name)


def run_task(settings: RunSettings) -> Done:
    """Run a task, and again as often as its contract allows; returns how the last run ended.

    Raises TaskHeld, UsageProblem and others where nothing was begun: then there is no tape.
    """
    must_be_possible()
    read = read_contract(settings.contract)
    with Holds.open(settings.environment) as holds:
        number, done = 1, _Run(settings, read, holds, 1, None).go()
        while _again(read.contract, holds, done, number):
            number += 1
            try:
                done = _Run(_for_retry(settings, number), read, holds, number, done).go()
            except UserError as error:
                return replace(done, problem=error)  # what was run has an outcome all the same
    return done


def _for_retry(settings: RunSettings, number: int) -> RunSettings:
    """On a tape of its own: `run-2.tape` after `run.tape`, or the next number that is free."""
    tape = settings.tape
    names = (tape.with_name(f"{tape.stem}-{at}{tape.suffix}") for at in count(number))
    named = next(name for name in names if settings.overwrite or not name.exists())
    return replace(settings, tape=named)


def _again(contract: Contract, holds: Holds, done: Done, number: int) -> bool:
    return not _why_no_retry(contract, holds, done.ended, number)


def _why_no_retry(contract: Contract, holds: Holds, ended: Ended, number: int) -> str:
    """Why no retry follows; "" where one does."""
    if ended.state != "stopped":
        return f"the run is {ended.state}"
    if number > contract.retries:
        return "there are no more retries"
    try:
        standing = holds.on(task_id=contract.task)
    except StateUnusable as error:
        return error.what  # whether it is held, nobody can say
    return f"the task is held: {standing[0].reason}" if standing else ""


class _Run:
    """One run, from the contract to the cleanup."""

    def __init__(
        self, settings: RunSettings, read: Read, holds: Holds, number: int, before: Done | None
    ) -> None:
        self._settings = settings
        self._read = read
        self._contract = read.contract
        self._holds = holds
        self._number = number
        self._before = before
        self._run_id = _named(settings.run_id, number)
        self._done = Done(settings.tape, "", self._run_id, read.contract.task, Ended("stopped"))

    def go(self) -> Done:
        holds, contract, environment = self._holds, self._contract, self._settings.environment
        holds.refuse_if_held(contract.task)
        secret = ""
        if contract.target is not None:
            secret = secret_of(contract.target, self._read.home, environment)
            read_policy(contract, self._read.home)  # a broken one is said before an agent works
        self._place = Place(environment, self._run_id)
        self._layout = Layout(
            contract, self._read.home, self._place, self._settings.tape, environment
        )
        self._ledger = budget.Ledger(contract.budget, self._settings.tape)
        try:
            with self._recording(secret) as recording:
                return self._onto(recording)
        finally:
            with suppress(OSError):
                self._place.remove(keep_workspace=self._settings.keep_workspace)

    def _recording(self, secret: str) -> Recording:
        known = {CREDENTIAL_VARIABLE: secret} if secret else {}
        settings = RecordSettings(
            command=self._layout.argv,
            tape=self._settings.tape,
            cwd=self._layout.workspace,
            environment={**self._settings.environment, **known},
            kept=self._layout.kept(),
            run_id=self._run_id,
            task_id=self._contract.task,
            upstream=self._settings.upstream,
            overwrite=self._settings.overwrite,
            log=self._heard,
            folders=Folders([Seen.itself(self._layout.workspace)], tape=self._settings.tape),
        )
        return Recording(settings, given=self._layout.given(), on_start=self._started, alone=True)

    def _heard(self, event: Event) -> None:
        self._ledger.hear(event)
        if self._settings.log is not None:
            self._settings.log(event)

    def _started(self, child: Child) -> None:
        self._ledger.watch(self._account, budget.ending(child, self._ledger))

    def _onto(self, recording: Recording) -> Done:
        self._account = Account(recording.recorder)
        recording.begin()
        ending = Ending(0)
        try:
            self._accept()
            try:
                prepared = self._prepare(recording)
            except RerailError as error:
                self._done = replace(
                    self._done, ended=Ended("not started", error.what), problem=error
                )
                ending = Ending(error.exit_code)
            else:
                ending = recording.run_command()
                self._after(prepared, ending)
        except BaseException as error:
            ended = cut_short(self._holds, self._run_id, error)
            self._done = replace(self._done, ended=ended)
            raise
        finally:
            self._clean_up()
            kept = recording.close(ending, self._done.ended.state)
        if kept.failed is not None:
            raise kept.failed
        return replace(self._done, tape_id=kept.tape_id)

    # Before the agent.

    def _accept(self) -> None:
        read = self._read
        self._account.note(
            TaskAccepted,
            "runner",
            task_id=self._contract.task,
            version=self._contract.version,
            contract=self._account.document(read.content),
            source=read.name,
            number=self._number,
        )
        if self._before is not None:
            self._account.note(
                TaskFollows,
                "runner",
                run_id=self._before.run_id,
                tape_id=self._before.tape_id,
                relation="retry",
            )
        self._account.kept()

    def _prepare(self, recording: Recording) -> Prepared:
        loaded = load_baseline(self._account, self._contract.baseline, self._read.home)
        self._baseline = loaded.content
        prepared = agent_plane.prepare(
            self._account, self._layout, list(recording.places), recording.channel
        )
        recording.sandbox = prepared.plane
        self._account.kept()
        return prepared

    # After it.

    def _after(self, prepared: Prepared, ending: Ending) -> None:
        self._ledger.close()
        proposed = propose(self._account.recorder, prepared.base, self._layout.workspace)
        self._put_down(proposed)
        failed = self._failure(ending)
        desk = self._desk()
        judged = judge_proposal(desk, proposed, run_checks=not failed)
        self._done = replace(
            self._done, verdict=judged.verdict, rule=judged.rule, detail=judged.detail
        )
        if judged.verdict == "STOP":
            ended = Ended("stopped", failed or f"STOP by {judged.rule}: {judged.detail}")
        elif self._contract.target is None:
            ended = Ended("checked")
        else:
            ended = apply_proposal(desk, proposed)
        self._done = replace(self._done, ended=ended)

    def _failure(self, ending: Ending) -> str:
        if self._ledger.spent:
            return f"the budget of {self._ledger.spent} was used up"
        if ending.signal:
            return f"the agent was ended by signal {ending.signal}"
        return f"the agent ended with status {ending.status}" if ending.status else ""

    def _put_down(self, proposed: Proposed) -> None:
        self._done = replace(self._done, proposal_ref=f"sha256:{proposed.ref.hex()}")
        note_proposal(self._account, proposed)

    def _desk(self) -> Desk:
        return Desk(
            account=self._account,
            holds=self._holds,
            contract=self._contract,
            home=self._read.home,
            environment=self._settings.environment,
            place=self._place,
            tape=self._settings.tape,
            run_id=self._run_id,
            baseline=self._baseline,
            hidden=[*self._layout.hidden(), self._place.agent],
            shown=self._layout.checkers_programs(),
            person=self._settings.person,
        )

    # The end.

    def _clean_up(self) -> None:
        if self._done.ended.state != "waiting":
            withdraw_unused(self._account, self._holds, self._run_id)
        account, ended = self._account, self._done.ended
        kept, workspace = self._settings.keep_workspace, str(self._layout.workspace)
        outcome, reason = "kept" if kept else "removed", ""
        try:
            self._place.remove(keep_workspace=kept)
        except OSError as error:
            outcome, reason = "failed", f"{error.strerror}: {error.filename}"
        account.note(CleanupDone, "applier", folder=workspace, outcome=outcome, reason=reason)
        if self._contract.retries:
            why_not = _why_no_retry(self._contract, self._holds, ended, self._number)
            account.note(
                RetryDecided,
                "runner",
                number=self._number,
                limit=self._contract.retries,
                scheduled=not why_not,
                reason=why_not or ended.reason,
            )
        account.note(TaskEnded, "runner", state=ended.state, reason=ended.reason)
        self._done = replace(self._done, workspace=workspace if kept else "")


def _named(run_id: str, number: int) -> str:
    """The run's id: the one that is given, for a retry with its number; else one made up."""
    given = f"{run_id}-{number}" if number > 1 else run_id
    return given if run_id else f"run-{secrets.token_hex(6)}"


def note_proposal(account: Account, proposed: Proposed) -> None:
    """Put the proposal down."""
    account.note(
        ProposalMade,
        "agent",
        proposal_ref=proposed.ref,
        size=proposed.size,
        base=proposed.base.digest,
        base_size=proposed.base.size,
        tree=proposed.after.digest,
        tree_size=proposed.after.size,
        left_out=proposed.after.left_out,
        **counted(proposed.made, proposed.base.tree),
    )
    account.kept()
