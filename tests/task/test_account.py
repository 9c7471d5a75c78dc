"""The account of a run: what is put down is on the disk when it must be, without credentials."""

from pathlib import Path

import pytest

from rerail.errors import TapeWriteFailed
from rerail.launch.errand import Errand
from rerail.tape.plane_records import HoldReleased, TaskEnded
from rerail.tape.reader import Tape
from rerail.task.account import Account

SECRET = "sk-abcdefgh12345678"


def test_a_fact_is_numbered_and_says_who_did_it(account: Account, tmp_path: Path) -> None:
    first = account.note(TaskEnded, "runner", state="stopped", reason="one")
    second = account.note(HoldReleased, "applier", hold_id="H-1", reason="two")
    account.kept()
    assert second == first + 1
    with Tape.open(tmp_path / "account.tape") as tape:
        ended, released = tape.event(first), tape.event(second)
    assert isinstance(ended, TaskEnded)
    assert (ended.component, ended.state, ended.reason) == ("runner", "stopped", "one")
    assert isinstance(released, HoldReleased)
    assert released.component == "applier"


def test_kept_is_on_the_disk_for_another_reader(account: Account, tmp_path: Path) -> None:
    numbers = [account.note(TaskEnded, "runner", state="stopped", reason=f"{n}") for n in range(50)]
    account.kept()
    with Tape.open(tmp_path / "account.tape") as tape:
        assert tape.state == "live"
        assert tape.last_seq == numbers[-1]


def test_where_the_tape_cannot_be_written_it_is_not_kept(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = TapeWriteFailed("no space left on device", hint="make room")
    monkeypatch.setattr(type(account.recorder), "failed", full)
    with pytest.raises(TapeWriteFailed, match="no space"):
        account.kept()


def test_what_a_command_said_is_kept_without_credentials(account: Account, tmp_path: Path) -> None:
    said = account.said(f"curl -H 'Authorization: Bearer {SECRET}' \xff\n".encode("latin-1"))
    account.kept()
    assert said is not None
    with Tape.open(tmp_path / "account.tape") as tape:
        content = tape.blob(said.digest)
    assert len(content) == said.size
    assert content.startswith(b"curl -H 'Authorization: Bearer ")
    assert SECRET.encode() not in content
    assert content.endswith(b" \xff\n")  # what is no text comes through


def test_a_command_that_said_nothing_has_no_evidence(account: Account) -> None:
    assert account.said(b"") is None


def test_a_file_is_kept_as_it_is(account: Account, tmp_path: Path) -> None:
    body = account.document(b"task: TASK-1\n\xff\0")
    account.kept()
    with Tape.open(tmp_path / "account.tape") as tape:
        assert tape.blob(body.digest) == b"task: TASK-1\n\xff\0"
    assert (body.size, body.framing) == (15, "none")


def test_an_end_is_told_in_an_events_own_words(account: Account) -> None:
    told = account.outcome(Errand(137, 9, timed_out=True))
    assert told == {"status": 137, "signal": 9, "timed_out": True}
