"""`rerail verify`: intact, signed and anchored apart; what was found; what can be saved."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.testing.tapes import Recording

Rerail = Callable[..., Any]
MakeTape = Callable[..., Recording]


def altered(tape: Path, sql: str) -> Path:
    with sqlite3.connect(tape) as connection:
        connection.execute(sql)
    connection.close()
    return tape


@pytest.fixture
def lost_tape(make_tape: MakeTape, tmp_path: Path) -> Path:
    tape = make_tape()
    tape.chat(1)
    tape.reply_head(1)
    tape.half_body(1, "origin", [b"half a ", b"reply"])
    (tmp_path / "lost").mkdir()
    return tape.leave(tmp_path / "lost" / "lost.tape")


def test_an_intact_tape_is_intact_and_neither_signed_nor_anchored(
    simple_tape: Path, rerail: Rerail
) -> None:
    result = rerail("verify", simple_tape)
    assert (result.status, result.err) == (0, "")
    assert result.lines[0] == f"{simple_tape}: intact"
    assert "  run run-1, 12 events, 12 sealed, 4 contents" in result.lines
    assert "  signed: no, anchored: no" in result.lines


def test_the_result_is_one_json_document(simple_tape: Path, rerail: Rerail) -> None:
    result = rerail("verify", simple_tape, "--json")
    page = result.json
    assert (result.status, result.err) == (0, "")
    assert (page["intact"], page["signed"], page["anchored"]) == (True, "no", "no")
    assert page["tape_id"] == rerail("show", simple_tape, "--json").json["id"]
    assert page["findings"] == []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM event WHERE seq = 7", "missing"),
        ("DELETE FROM event WHERE seq > 10", "truncated: 2 sealed events at the end are missing"),
        ("UPDATE seal SET root = zeroblob(32)", "events 1 to 12 are not those that were sealed"),
        ("DELETE FROM blob WHERE id = 1", "of event 5 is missing"),
        ("UPDATE event SET size = size + 1 WHERE seq = 5", "event 5"),
    ],
)
def test_what_was_altered_is_told_with_its_number(
    simple_tape: Path, rerail: Rerail, sql: str, said: str
) -> None:
    tape = altered(simple_tape, sql)
    result = rerail("verify", tape)
    assert result.status == 1
    assert result.lines[0] == f"{tape}: not intact"
    assert any("✗" in line and said in line for line in result.lines)
    page = rerail("verify", tape, "--json")
    assert page.status == 1
    assert page.json["intact"] is False
    assert any(finding["breaks"] for finding in page.json["findings"])


def test_a_lost_tape_is_intact_as_far_as_it_goes(lost_tape: Path, rerail: Rerail) -> None:
    beside = sorted(path.name for path in lost_tape.parent.iterdir())
    result = rerail("verify", lost_tape)
    assert result.status == 0
    assert result.lines[0] == f"{lost_tape}: intact"
    assert "unfinished: there is no end record, so truncation cannot be excluded" in result.out
    assert "the last 3 events are not sealed" in result.out
    assert "is cut after 12 bytes" in result.out
    assert sorted(path.name for path in lost_tape.parent.iterdir()) == beside


def test_what_a_lost_tape_holds_can_be_saved_in_a_new_one(
    lost_tape: Path, tmp_path: Path, rerail: Rerail
) -> None:
    new = tmp_path / "new.tape"
    before = {path: path.read_bytes() for path in lost_tape.parent.iterdir()}
    result = rerail("verify", lost_tape, "--repair", new)
    assert (result.status, result.err) == (0, "")
    assert result.lines[0].startswith(f"{new}: 5 events and 2 contents saved from {lost_tape}")
    assert "nothing that was committed is lost" in result.out
    assert {path: path.read_bytes() for path in lost_tape.parent.iterdir()} == before
    assert rerail("verify", new).lines[0] == f"{new}: intact"
    page = rerail("show", new, "--json").json
    assert (page["state"], page["unfinished"]) == ("lost", [])
    assert page["exchanges"][0]["outcome"] == "200, cut after 12 bytes"
    assert rerail("show", new, "r1", "--raw").out == "half a reply"


def test_what_cannot_be_saved_is_said(simple_tape: Path, tmp_path: Path, rerail: Rerail) -> None:
    new = tmp_path / "new.tape"
    altered(simple_tape, "DELETE FROM blob WHERE id = 1")
    result = rerail("verify", simple_tape, "--repair", new, "--json")
    assert result.status == 1
    assert [line for line in result.json["lost"] if "of event 5 cannot be read" in line]
    assert rerail("show", new, "r2", "--raw").out.startswith("data: ")
    assert rerail("show", new, "r1").status == 1


def test_a_repair_replaces_nothing(simple_tape: Path, tmp_path: Path, rerail: Rerail) -> None:
    new = tmp_path / "new.tape"
    new.write_text("precious")
    rerail("verify", simple_tape, "--repair", new).assert_complaint(2, "is there already")
    rerail("verify", simple_tape, "--repair", simple_tape).assert_complaint(2, "already")
    assert new.read_text() == "precious"


def test_a_tape_that_is_being_recorded_needs_no_repair(
    make_tape: MakeTape, tmp_path: Path, rerail: Rerail
) -> None:
    tape = make_tape()
    tape.writer.flush()
    rerail("verify", tape.path, "--repair", tmp_path / "new.tape").assert_complaint(
        2, "is being recorded", "wait"
    )
    assert rerail("verify", tape.path).status == 0


def test_a_strangers_names_cannot_steer_a_terminal(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape(run_id="\x1b]0;owned\x07")
    tape.end()
    for view in ([], ["--json"]):
        assert not {"\x1b", "\x07"} & set(rerail("verify", tape.path, *view).out)
