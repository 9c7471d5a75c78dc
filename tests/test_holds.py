"""What a machine remembers: an approval is used once, whoever tries, and a hold stands."""

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from rerail.holds import (
    Approval,
    Attempt,
    Hold,
    Holds,
    NotYours,
    StateUnusable,
    TaskHeld,
    new_id,
    state_folder,
)

NOW = 1_000
APPROVAL = Approval("A-1", "run-1", "T", "t.tape", "aa", "live", "M a", NOW + 1_000, "ada\nbob")
ATTEMPT = Attempt("T-1", "run-1", "T", "t.tape", "/c", "live", "aa", "A-1", NOW)


@pytest.fixture
def holds(tmp_path: Path) -> Iterator[Holds]:
    with Holds(tmp_path / "state" / "holds.sqlite") as opened:
        yield opened


class Unlucky:
    """A connection on which one COMMIT fails."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._failed = False

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        if sql == "COMMIT" and not self._failed:
            self._failed = True
            raise sqlite3.OperationalError("database or disk is full")
        return self._connection.execute(sql, *values)

    def __getattr__(self, name: str) -> object:
        return getattr(self._connection, name)


def test_what_could_not_be_committed_is_taken_back(
    holds: Holds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds, "_connection", Unlucky(holds._connection))
    with pytest.raises(StateUnusable, match="disk is full"):
        holds.ask(APPROVAL)
    assert holds.approvals() == []
    granted(holds)
    assert len(holds.approvals()) == 1


def granted(holds: Holds, **changes: object) -> Approval:
    approval = replace(APPROVAL, **changes)
    holds.ask(approval)
    assert holds.decide(approval.id, grant=True, by="ada", how="command", reason="")
    return approval


def begin(holds: Holds, **changes: object) -> object:
    return holds.begin(replace(ATTEMPT, **changes), reason="under way", by="run")


def test_only_its_owner_can_look_into_it(holds: Holds, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / "holds.sqlite").stat().st_mode) == 0o600


def test_it_lies_in_the_state_folder(tmp_path: Path) -> None:
    assert state_folder({"XDG_STATE_HOME": "/s"}) == Path("/s/rerail")
    assert state_folder({"XDG_STATE_HOME": "s", "HOME": "/h"}) == Path("/h/.local/state/rerail")
    assert Holds.open_if_there({"HOME": str(tmp_path)}) is None


# Holds.


def test_a_hold_stands_on_its_run_and_its_task_until_it_is_released(holds: Holds) -> None:
    hold = holds.place(run_id="run-1", task_id="T", reason="look", by="ada", case="/c")
    assert holds.on(task_id="T") == holds.on(run_id="run-1") == [hold]
    assert holds.on(task_id="other") == holds.on() == []
    with pytest.raises(TaskHeld, match="look") as raised:
        holds.refuse_if_held("T")
    assert raised.value.hint is not None
    assert hold.id in raised.value.hint
    assert holds.release(hold.id, reason="done", by="bob")
    assert not holds.release(hold.id, reason="again", by="bob")
    holds.refuse_if_held("T")
    [kept] = holds.every()
    assert (kept.release_reason, kept.released_by) == ("done", "bob")


def test_the_same_hold_is_not_placed_twice(holds: Holds) -> None:
    given = {"run_id": "r", "task_id": "T", "reason": "look", "by": "ada"}
    assert holds.place(**given) == holds.place(**given)
    assert holds.place(**given | {"reason": "other"}) != holds.place(**given)


def test_a_hold_on_a_run_without_a_task_holds_no_other_run_without_one(holds: Holds) -> None:
    holds.place(run_id="r", task_id="", reason="look", by="ada")
    assert holds.on(run_id="other", task_id="") == []


# Approvals.


def test_an_approval_is_used_once_and_holds_its_task(holds: Holds) -> None:
    granted(holds)
    hold = begin(holds)
    assert isinstance(hold, Hold)
    assert (hold.attempt_id, hold.task_id) == ("T-1", "T")
    found = holds.approval("A-1")
    assert found is not None
    assert (found.state, found.attempt_id) == ("used", "T-1")
    holds.settle("T-1", "accepted", reason="", by="run", free=True)
    assert begin(holds, id="T-2") == "used"
    assert [attempt.id for attempt in holds.attempts()] == ["T-1"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"proposal": "bb"}, "other proposal"),
        ({"target": "test"}, "other target"),
        ({"approval_id": "A-2"}, "unknown"),
        ({"begun": NOW + 1_000}, "expired"),
        ({"begun": NOW + 999}, None),
    ],
)
def test_it_holds_for_its_scope_alone(
    holds: Holds, changes: dict[str, object], why: object
) -> None:
    granted(holds)
    begun = begin(holds, **changes)
    assert begun == why or (why is None and isinstance(begun, Hold))
    assert bool(holds.every()) == (why is None)


@pytest.mark.parametrize("how", ["asked", "refused", "withdrawn"])
def test_what_is_not_granted_does_not_hold(holds: Holds, how: str) -> None:
    holds.ask(APPROVAL)
    if how != "asked":
        holds.decide("A-1", grant=how == "withdrawn", by="ada", how="command", reason="")
    if how == "withdrawn":
        assert holds.withdraw("A-1")
    assert begin(holds) == "not granted"


def test_it_is_decided_once(holds: Holds) -> None:
    granted(holds)
    assert not holds.decide("A-1", grant=False, by="bob", how="command", reason="")
    assert not holds.decide("A-9", grant=True, by="bob", how="command", reason="")


def test_a_grant_that_is_not_used_can_be_taken_back_and_stays_so(holds: Holds) -> None:
    granted(holds)
    assert holds.take_back("A-1", by="bob", how="command", reason="too early")
    found = holds.approval("A-1")
    assert found is not None
    assert (found.state, found.decided_by, found.reason) == ("refused", "bob", "too early")
    assert not holds.decide("A-1", grant=True, by="ada", how="command", reason="")
    assert begin(holds) == "not granted"


def test_a_grant_that_is_used_cannot_be_taken_back(holds: Holds) -> None:
    granted(holds)
    begin(holds)
    assert not holds.take_back("A-1", by="bob", how="command", reason="")


def test_it_holds_for_one_contract_and_of_version_1_for_none(tmp_path: Path) -> None:
    path = tmp_path / "old" / "holds.sqlite"
    with Holds(path) as opened:
        opened.ask(replace(APPROVAL, contract="c1"))
        granted_to = {"proposal": "aa", "target": "live", "now": NOW}
        opened.decide("A-1", grant=True, by="ada", how="command", reason="")
        assert opened.why_not("A-1", contract="c1", **granted_to) is None
        assert opened.why_not("A-1", contract="c2", **granted_to) == "other contract"
    old = sqlite3.connect(path, isolation_level=None)
    for name in ("contract", "programs", "witness"):
        old.execute(f"ALTER TABLE approval DROP COLUMN {name}")
    old.execute("PRAGMA user_version = 1")
    old.close()
    with Holds(path) as opened:
        assert opened.why_not("A-1", contract="c1", **granted_to) == "not yours"
        assert [found.id for found in opened.approvals()] == ["A-1"]


def test_what_is_used_cannot_be_withdrawn(holds: Holds) -> None:
    granted(holds)
    begin(holds)
    assert not holds.withdraw("A-1")


def test_a_held_task_begins_nothing_and_the_approval_stays(holds: Holds) -> None:
    granted(holds)
    holds.place(run_id="", task_id="T", reason="look", by="ada")
    with pytest.raises(TaskHeld):
        begin(holds)
    found = holds.approval("A-1")
    assert found is not None
    assert found.state == "granted"


def test_of_many_who_try_at_once_one_gets_it(holds: Holds, tmp_path: Path) -> None:
    granted(holds)
    outcomes: list[object] = []
    gate = threading.Barrier(8)

    def attempt(number: int) -> None:
        with Holds(tmp_path / "state" / "holds.sqlite") as mine:
            gate.wait()
            try:
                outcomes.append(begin(mine, id=f"T-{number}"))
            except TaskHeld:
                outcomes.append("held")

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(outcome, Hold) for outcome in outcomes) == 1
    assert len(holds.attempts()) == 1


# What an attempt did.


def test_an_attempt_that_is_settled_frees_its_task_alone(holds: Holds) -> None:
    granted(holds)
    begin(holds)
    case = holds.place(run_id="", task_id="T", reason="look", by="ada")
    freed = holds.settle("T-1", "rejected", reason="no", by="run", free=True)
    assert [hold.attempt_id for hold in freed] == ["T-1"]
    assert holds.on(task_id="T") == [case]
    assert holds.attempts()[0].state == "rejected"


def test_what_is_partly_known_frees_nothing(holds: Holds) -> None:
    granted(holds)
    begin(holds)
    assert holds.settle("T-1", "partly applied", reason="", by="ada", free=False) == []
    with pytest.raises(TaskHeld, match="under way"):
        holds.refuse_if_held("T")


# The file.


def test_a_killed_process_has_used_it_wholly_or_not(tmp_path: Path, holds: Holds) -> None:
    """kill -9 between the transaction's statements: neither half of it is there."""
    granted(holds)
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom rerail import holds\n"
        "class Dies(holds.Holds):\n"
        "    def _insert(self, table, row):\n"
        "        if table == 'hold': os.kill(os.getpid(), 9)\n"
        "        super()._insert(table, row)\n"
        "with Dies(Path(sys.argv[1])) as opened:\n"
        "    attempt = holds.Attempt('T-1', 'run-1', 'T', 't', '/c', 'live', 'aa', 'A-1', 1000)\n"
        "    opened.begin(attempt, reason='r', by='b')\n"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "state" / "holds.sqlite")]
    assert subprocess.run(words, check=False).returncode == -9
    assert holds.attempts() == []
    found = holds.approval("A-1")
    assert found is not None
    assert found.state == "granted"
    assert isinstance(begin(holds), Hold)


@pytest.mark.parametrize("spoil", [lambda file: file.write_bytes(b"no database at all" * 9)])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, spoil: Callable[[Path], int]) -> None:
    file = tmp_path / "holds.sqlite"
    spoil(file)
    with pytest.raises(StateUnusable, match=r"holds\.sqlite") as raised:
        Holds(file)
    assert raised.value.hint


def test_a_later_versions_file_is_refused(tmp_path: Path) -> None:
    import sqlite3

    file = tmp_path / "holds.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StateUnusable, match="a later version"):
        Holds(file)


def test_names_are_nobody_elses() -> None:
    assert len({new_id("A") for _ in range(1000)}) == 1000


# Whose an approval is.


def forged(path: Path, sql: str, *values: object) -> None:
    """What a program writes that can reach the file and has not the key."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(sql, values)
    connection.close()


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Holds]:
    with Holds(tmp_path / "mine.sqlite", lambda: b"my key") as opened:
        opened.ask(APPROVAL)
        yield opened


WANTED = {"proposal": "aa", "target": "live", "now": NOW}


def test_a_grant_that_was_written_into_the_file_is_worth_nothing(
    mine: Holds, tmp_path: Path
) -> None:
    sql = "UPDATE approval SET state = 'granted', decided_by = 'ada', how = 'command'"
    forged(tmp_path / "mine.sqlite", sql)
    assert mine.why_not("A-1", **WANTED) == "not yours"
    assert mine.begin(ATTEMPT, reason="r", by="x") == "not yours"
    assert mine.attempts() == []


def test_what_is_shown_cannot_be_changed_before_it_is_granted(mine: Holds, tmp_path: Path) -> None:
    forged(tmp_path / "mine.sqlite", "UPDATE approval SET summary = 'M harmless'")
    with pytest.raises(NotYours, match="A-1 is not as it was asked for"):
        mine.decide("A-1", grant=True, by="ada", how="command", reason="")
    assert not mine.withdraw("A-1")


def test_a_grant_by_another_key_is_worth_nothing(tmp_path: Path, mine: Holds) -> None:
    mine.decide("A-1", grant=True, by="ada", how="command", reason="")
    with Holds(tmp_path / "mine.sqlite", lambda: b"another's") as theirs:
        assert theirs.why_not("A-1", **WANTED) == "not yours"
    assert mine.why_not("A-1", **WANTED) is None


def test_a_used_one_cannot_be_made_a_grant_again(mine: Holds, tmp_path: Path) -> None:
    mine.decide("A-1", grant=True, by="ada", how="command", reason="")
    assert isinstance(mine.begin(ATTEMPT, reason="r", by="x"), Hold)
    forged(tmp_path / "mine.sqlite", "UPDATE approval SET state = 'granted', attempt_id = ''")
    assert mine.why_not("A-1", **WANTED) in ("not yours", "used")


def test_an_old_row_put_back_is_used_all_the_same(mine: Holds, tmp_path: Path) -> None:
    mine.decide("A-1", grant=True, by="ada", how="command", reason="")
    before = mine.approval("A-1")
    assert before is not None
    assert isinstance(mine.begin(ATTEMPT, reason="r", by="x"), Hold)
    sql = "UPDATE approval SET state = ?, attempt_id = '', witness = ?"
    forged(tmp_path / "mine.sqlite", sql, before.state, before.witness)
    assert mine.why_not("A-1", **WANTED) == "used"


def test_it_holds_for_these_programs(mine: Holds) -> None:
    mine.ask(replace(APPROVAL, id="A-2", programs='{"ctl.sh": "sha256:aa"}'))
    mine.decide("A-2", grant=True, by="ada", how="command", reason="")
    assert mine.why_not("A-2", programs='{"ctl.sh": "sha256:aa"}', **WANTED) is None
    assert mine.why_not("A-2", programs='{"ctl.sh": "sha256:bb"}', **WANTED) == "other programs"
