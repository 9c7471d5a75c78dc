"""Where two runs part, told from tapes whose stories are known."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.compare.volatile import Rules
from rerail.playback.likeness import likeness_of
from rerail.playback.script import Script
from rerail.tape import records
from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording
from rerail.trace.difference import Comparison, ReadRun, compare

JSON = "Content-Type: application/json\r\n"
Told = Callable[[Recording], None]


def said(text: str, **more: Any) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": f"made-up-{text}", "choices": [choice], **more}).encode()


def story(
    tape: Recording, *, asked: str = "and then?", answer: str = "rest", made: int = 1
) -> None:
    """Two model calls, a look at a ticket between them, a child, and an end."""
    tape.chat(1, "what now?")
    tape.reply(1, [said("look at the ticket", created=made)], headers=JSON)
    tape.request(2, target="/tickets/1841")
    tape.reply(2, [b'{"state": "open"}'], headers=JSON)
    tape.chat(3, asked)
    tape.reply(3, [said(answer)], headers=JSON)


@pytest.fixture
def compared(tmp_path: Path) -> Callable[..., Comparison]:
    """Compare a run that was told one way with one that was told another way."""

    def both(good: Told, bad: Told, *, ended: int = 0) -> Comparison:
        paths = tmp_path / "good.tape", tmp_path / "bad.tape"
        for path, tell, status in zip(paths, (good, bad), (0, ended), strict=True):
            tape = Recording.begin(path)
            tell(tape)
            tape.end(status)
        with Tape.open(paths[0]) as one, Tape.open(paths[1]) as other:
            rules = Rules()
            likeness = likeness_of(one.run, rules, lasted=0, now=other.run.facts, given=[])
            return compare(run(one), run(other), rules, likeness)

    return both


def run(tape: Tape) -> ReadRun:
    script = Script(tape)
    exchanges = {number: item.exchange for number, item in script.exchanges.items()}
    return ReadRun(tape, script.recorded, exchanges, script.calls, pytest.fail)


def test_runs_that_are_the_same(compared: Callable[..., Comparison]) -> None:
    found = compared(story, lambda tape: story(tape, made=2))
    assert found.first is None
    assert [(pair.good, pair.bad) for pair in found.pairs] == [(1, 1), (2, 2), (3, 3)]


def test_a_model_that_said_something_else(compared: Callable[..., Comparison]) -> None:
    found = compared(story, lambda tape: story(tape, answer="go on"))
    assert found.first is not None
    assert (found.first.kind, found.first.good, found.first.bad) == ("answered", "r3", "r3")
    assert found.first.step == 2
    assert [(item.path, item.recorded, item.now) for item in found.first.differences] == [
        ("said[0].text", "rest", "go on")
    ]


def test_an_agent_that_asked_something_else(compared: Callable[..., Comparison]) -> None:
    found = compared(story, lambda tape: story(tape, asked="what else?"))
    assert [(one.kind, one.good, one.bad) for one in found.partings] == [
        ("asked", "r3", "r3"), ("not asked", "r3", ""),
    ]  # fmt: skip
    assert found.partings[0].differences[0].path == "messages[0].content"


def test_the_first_place_comes_first(compared: Callable[..., Comparison]) -> None:
    def other(tape: Recording) -> None:
        tape.chat(1, "what now?")
        tape.reply(1, [said("look at the ticket")], headers=JSON)
        tape.request(2, target="/tickets/1841")
        tape.reply(2, [b'{"state": "closed"}'], headers=JSON)
        tape.chat(3, "so it is closed")
        tape.reply(3, [said("rest")], headers=JSON)

    found = compared(story, other, ended=1)
    assert [one.kind for one in found.partings] == ["answered", "asked", "not asked", "ended"]
    assert found.partings[0].text == "the same was asked, and the origin answered otherwise"
    assert found.partings[-1].text == "the good run ended with 0, this one ended with 1"


def child(tape: Recording, number: int, *argv: str, told: bytes = b"", status: int = 0) -> None:
    tape.event(
        records.ProcessStarted,
        process_id=number,
        argv=list(argv),
        cwd="/",
        streams={"stdout": "pipe"},
    )
    body = tape.body(0, "origin", [told] if told else [])
    tape.event(records.ProcessOutput, process_id=number, stream="stdout", body=body)
    tape.event(records.ProcessEnded, process_id=number, status=status)


def test_children_that_did_otherwise(compared: Callable[..., Comparison]) -> None:
    def good(tape: Recording) -> None:
        child(tape, 2, "git", "status", told=b"clean\n")
        child(tape, 3, "make")

    def bad(tape: Recording) -> None:
        child(tape, 2, "git", "status", told=b"1 file changed\n")
        child(tape, 3, "make", status=2)
        child(tape, 4, "make", "clean")

    found = compared(good, bad)
    assert [(one.kind, one.good, one.bad) for one in found.partings] == [
        ("child", "p2", "p2"), ("child", "p3", "p3"), ("child", "", "p4"),
    ]  # fmt: skip
    assert [item.path for item in found.partings[0].differences] == ["stdout"]
    assert [item.path for item in found.partings[1].differences] == ["status"]


def test_files_that_are_others_at_the_end(
    compared: Callable[..., Comparison], tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "left").write_text("over")
    found = compared(
        lambda tape: tape.snapshot(tmp_path / "a", "end"),
        lambda tape: tape.snapshot(tmp_path / "b", "end"),
    )
    assert found.first is not None
    assert (found.first.kind, found.first.text) == (
        "files", "other files than in the good run: left",
    )  # fmt: skip


def test_a_run_without_an_end(compared: Callable[..., Comparison], tmp_path: Path) -> None:
    whole, lost = Recording.begin(tmp_path / "whole.tape"), Recording.begin(tmp_path / "live.tape")
    whole.end()
    lost.leave(tmp_path / "lost.tape")
    lost.end()
    with Tape.open(tmp_path / "whole.tape") as one, Tape.open(tmp_path / "lost.tape") as other:
        likeness = likeness_of(one.run, Rules(), lasted=0, now={}, given=[])
        found = compare(run(one), run(other), Rules(), likeness)
    assert [one.text for one in found.partings] == [
        "the good run ended with 0, this one has no end on its tape"
    ]
