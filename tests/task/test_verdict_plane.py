"""The verdict plane: an approval is used once, no step before the last one is down, no guess."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rerail.clock import wall_ns
from rerail.errors import TapeWriteFailed
from rerail.holds import Approval, Holds, StateUnusable
from rerail.tape.plane_records import (
    ActionAttempted,
    ActionResult,
    ApprovalUnusable,
    ApprovalWithdrawn,
    HoldMet,
    TargetRead,
    VerdictEmitted,
)
from rerail.tape.reader import Tape
from rerail.task.account import Account
from rerail.task.contract import Contract
from rerail.task.place import Place
from rerail.task.trees import Proposed
from rerail.task.verdict_plane import (
    Desk,
    apply_proposal,
    credential_environment,
    cut_short,
    judge_proposal,
    plain,
    withdraw_unused,
)

# A folder is the target: `ends` in it says how applying goes, `gone` that it cannot be read.
APPLY = """
import os, pathlib, sys
live = pathlib.Path(sys.argv[1])
proposal = pathlib.Path(os.environ["RERAIL_PROPOSAL"], "a.txt").read_text()
with (live / "applied").open("a") as log:
    log.write(f"{proposal} by {os.environ['RERAIL_APPROVAL_ID']}\\n")
ends = live / "ends"
sys.exit(int(ends.read_text()) if ends.exists() else 0)
"""
READ = """
import pathlib, sys
live = pathlib.Path(sys.argv[1])
sys.exit(5 if (live / "gone").exists() else print((live / "applied").exists()))
"""
Facts = Callable[[], list[Any]]


class Person:
    """Somebody who says the same to everything."""

    def __init__(self, word: bool) -> None:
        self._word = word

    def asked(self, approval: Approval) -> None:
        pass

    def word(self, seconds: float, *, heard: bool) -> bool:
        return self._word


@pytest.fixture
def live(tmp_path: Path) -> Path:
    folder = tmp_path / "live"
    folder.mkdir()
    return folder


@pytest.fixture
def desk(
    tmp_path: Path, live: Path, account: Account, contract: Callable[..., Contract]
) -> Iterator[Callable[..., Desk]]:
    """`desk(person, apply=…)`: what the plane works with, its target a folder."""
    environment = {"XDG_STATE_HOME": str(tmp_path / "state"), "PATH": "/usr/bin:/bin"}
    place = Place(environment, "RUN-1")
    holds = Holds.open(environment)

    def made(person: Person | None = None, **fields: Any) -> Desk:
        apply = {"command": [sys.executable, "-c", APPLY, str(live)], "rejects": [22]}
        target = {
            "name": "live",
            "apply": fields.pop("apply", apply),
            "read": {"command": [sys.executable, "-c", READ, str(live)]},
        }
        return Desk(
            account=account,
            holds=holds,
            contract=contract(target=target),
            home=tmp_path,
            environment=environment,
            place=place,
            tape=tmp_path / "account.tape",
            run_id="RUN-1",
            baseline=b"",
            hidden=[],
            shown=[],
            person=person,
        )

    yield made
    holds.close()
    place.remove(keep_workspace=False)


@pytest.fixture
def facts(account: Account, tmp_path: Path) -> Facts:
    """What is on the tape, but for the beginning of the run."""

    def read() -> list[Any]:
        account.kept()
        with Tape.open(tmp_path / "account.tape") as tape:
            return list(tape.events())[1:]

    return read


def kinds(facts: Facts) -> list[str]:
    return [type(event).__name__ for event in facts()]


def applied(live: Path) -> list[str]:
    log = live / "applied"
    return log.read_text().splitlines() if log.exists() else []


def test_a_granted_proposal_is_applied_once_and_every_step_put_down_in_its_order(
    desk: Callable[..., Desk], proposed: Proposed, facts: Facts, live: Path
) -> None:
    it = desk(Person(True))
    assert apply_proposal(it, proposed).state == "applied"
    (approval,) = it.holds.approvals()
    assert applied(live) == [f"two by {approval.id}"]
    assert kinds(facts) == [
        "ApprovalRequested", "ApprovalDecided", "TargetRead", "ApprovalConsumed", "HoldPlaced",
        "ActionAttempted", "ActionResult", "HoldReleased", "TargetRead",
    ]  # fmt: skip
    assert [event.moment for event in facts() if isinstance(event, TargetRead)] == [
        "before",
        "after",
    ]
    assert approval.state == "used"
    assert [attempt.state for attempt in it.holds.attempts()] == ["accepted"]
    assert it.holds.on(task_id="TASK-1") == []


def test_the_targets_command_finds_what_was_changed_in_a_list(
    desk: Callable[..., Desk], proposed: Proposed
) -> None:
    it = desk(Person(True))
    apply_proposal(it, proposed)
    (listed,) = it.place.own("apply").glob("changes.json")
    assert json.loads(listed.read_text()) == [{"path": "a.txt", "removed": False}]


@pytest.mark.parametrize(("person", "state"), [(None, "waiting"), (Person(False), "refused")])
def test_without_a_grant_nothing_is_sent(
    desk: Callable[..., Desk], proposed: Proposed, facts: Facts, live: Path,
    person: Person | None, state: str,
) -> None:  # fmt: skip
    assert apply_proposal(desk(person), proposed).state == state
    assert applied(live) == []
    assert "ActionAttempted" not in kinds(facts)


def test_an_approval_that_was_used_lets_nothing_be_applied_again(
    desk: Callable[..., Desk], proposed: Proposed, facts: Facts, live: Path
) -> None:
    it = desk(Person(True))
    apply_proposal(it, proposed)
    (approval,) = it.holds.approvals()
    ended = apply_proposal(it, proposed, by=approval.id)
    assert ended.state == "refused"
    assert "does not hold: used" in ended.reason
    assert len(applied(live)) == 1
    assert [event.why for event in facts() if isinstance(event, ApprovalUnusable)] == ["used"]


def test_a_target_that_cannot_be_read_beforehand_is_sent_nothing(
    desk: Callable[..., Desk], proposed: Proposed, facts: Facts, live: Path
) -> None:
    (live / "gone").touch()
    it = desk(Person(True))
    assert apply_proposal(it, proposed).state == "refused"
    assert applied(live) == []
    assert "ApprovalConsumed" not in kinds(facts)
    assert it.holds.approvals()[0].state == "granted"


def test_a_target_that_says_no_has_done_nothing_and_the_task_is_free(
    desk: Callable[..., Desk], proposed: Proposed, live: Path
) -> None:
    (live / "ends").write_text("22")
    it = desk(Person(True))
    assert apply_proposal(it, proposed).state == "rejected"
    assert [attempt.state for attempt in it.holds.attempts()] == ["rejected"]
    assert it.holds.on(task_id="TASK-1") == []


def test_an_end_that_says_nothing_leaves_it_unresolved_and_the_task_held(
    desk: Callable[..., Desk], proposed: Proposed, facts: Facts, live: Path
) -> None:
    (live / "ends").write_text("7")
    it = desk(Person(True))
    ended = apply_proposal(it, proposed)
    (attempt,) = it.holds.attempts()
    assert ended.state == "unresolved"
    assert f"rerail reconcile {attempt.id}" in ended.reason
    assert attempt.state == "open"
    assert [hold.attempt_id for hold in it.holds.on(task_id="TASK-1")] == [attempt.id]
    assert [event.outcome for event in facts() if isinstance(event, ActionResult)] == ["unknown"]


def test_a_command_that_cannot_be_started_has_done_nothing(
    desk: Callable[..., Desk], proposed: Proposed, live: Path
) -> None:
    it = desk(Person(True), apply={"command": [str(live / "no-such-command")]})
    ended = apply_proposal(it, proposed)
    assert ended.state == "rejected"
    assert "could not be started" in ended.reason
    assert [attempt.state for attempt in it.holds.attempts()] == ["not applied"]
    assert it.holds.on(task_id="TASK-1") == []


def test_a_task_that_is_held_meanwhile_is_sent_nothing_and_keeps_its_approval(
    desk: Callable[..., Desk], proposed: Proposed, facts: Facts, live: Path
) -> None:
    it = desk(Person(True))
    it.holds.place(run_id="RUN-0", task_id="TASK-1", reason="look first", by="somebody")
    ended = apply_proposal(it, proposed)
    assert ended.state == "refused"
    assert applied(live) == []
    assert [event.went_on for event in facts() if isinstance(event, HoldMet)] == [False]
    assert it.holds.approvals()[0].state == "granted"


def test_what_the_tape_cannot_say_was_sent_is_not_sent(
    desk: Callable[..., Desk], proposed: Proposed, account: Account, live: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    it, noted = desk(Person(True)), account.note

    def note(kind: type, by: Any, **fields: Any) -> int:
        if kind is ActionAttempted:
            raise TapeWriteFailed("no space left on device", hint="make room")
        return noted(kind, by, **fields)

    monkeypatch.setattr(account, "note", note)
    with pytest.raises(TapeWriteFailed):
        apply_proposal(it, proposed)
    assert applied(live) == []
    assert [attempt.state for attempt in it.holds.attempts()] == ["not applied"]
    assert it.holds.on(task_id="TASK-1") == []


def test_a_run_that_was_not_checked_is_stopped_and_that_is_put_down(
    desk: Callable[..., Desk], proposed: Proposed, facts: Facts
) -> None:
    judged = judge_proposal(desk(), proposed, run_checks=False)
    (emitted,) = (event for event in facts() if isinstance(event, VerdictEmitted))
    assert judged.verdict == emitted.verdict == "STOP"
    assert (emitted.rule, emitted.proposal_ref) == (judged.rule, proposed.ref)
    assert emitted.checks == []


def test_a_run_cut_short_is_unresolved_only_where_its_own_action_is_under_way(
    desk: Callable[..., Desk], proposed: Proposed, live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (live / "ends").write_text("7")
    it = desk(Person(True))
    error = KeyboardInterrupt()
    assert cut_short(it.holds, "RUN-1", error).state == "stopped"
    apply_proposal(it, proposed)
    assert cut_short(it.holds, "RUN-1", error).state == "unresolved"
    assert cut_short(it.holds, "RUN-2", error).state == "stopped"

    def unusable() -> list[Any]:
        raise StateUnusable("the file is gone", hint="bring it back")

    monkeypatch.setattr(it.holds, "attempts", unusable)
    assert cut_short(it.holds, "RUN-2", error).state == "unresolved"


def test_at_the_end_of_a_run_its_unused_approvals_and_no_others_are_withdrawn(
    desk: Callable[..., Desk], proposed: Proposed, account: Account, facts: Facts
) -> None:
    it = desk(Person(True))
    apply_proposal(it, proposed)
    used, at, ref = it.holds.approvals()[0], str(it.tape), proposed.ref.hex()
    for name, run_id in (("A-1", "RUN-1"), ("A-2", "RUN-2")):
        expires = wall_ns() + 10**12
        it.holds.ask(Approval(name, run_id, "TASK-1", at, ref, "live", "M a.txt", expires, ""))
    withdraw_unused(account, it.holds, "RUN-1")
    states = {found.id: found.state for found in it.holds.approvals()}
    assert states == {used.id: "used", "A-1": "withdrawn", "A-2": "waiting"}
    assert [e.approval_id for e in facts() if isinstance(e, ApprovalWithdrawn)] == ["A-1"]


def test_only_the_targets_own_commands_are_given_its_credential(
    contract: Callable[..., Contract],
) -> None:
    environment = {"PATH": "/bin", "HOME": "/home/a", "LIVE_TOKEN": "t", "OTHER": "o"}
    target = {
        "name": "live",
        "apply": {"command": ["apply"]},
        "read": {"command": ["read"]},
        "credential": {"env": "LIVE_TOKEN"},
    }
    given = credential_environment(contract(target=target), environment)
    assert given == {"PATH": "/bin", "HOME": "/home/a", "LIVE_TOKEN": "t"}
    assert plain(environment) == {"PATH": "/bin"}
