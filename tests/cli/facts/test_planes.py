"""What `show` says of a run in two planes: one line an event, and each event whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from rerail.cli.facts.events import words
from rerail.cli.facts.planes import change_lines, plane_words
from rerail.tape import plane_records as planes
from rerail.tape.event import Body, Event, NotCaptured
from rerail.tape.plane_records import AnyPlaneEvent
from rerail.tape.proposals import Change, Proposal, encode_proposal
from rerail.testing.tapes import Recording

MakeTape = Callable[..., Recording]
Rerail = Callable[..., Any]
KINDS = get_args(AnyPlaneEvent)
REF = bytes(range(32))
UNTIL = 1_790_000_000 * 10**9


def sample(tape: Recording, kind: type[Event]) -> dict[str, Any]:
    """A value for every field of a kind, a content for every body."""
    body = tape.body(0, "origin", [b"what was said\n"])
    content = tape.redactor.body(
        encode_proposal(Proposal(REF, (Change(b"a", 0o100644, b"", REF),)))
    )
    digest = tape.writer.blob(content)
    values: dict[object, Any] = {
        str: "text", int: 3, bool: True, bytes: digest, Body: body, Body | None: body,
        list[str]: ["a", "b"], list[int]: [1], dict[str, str]: {"a": "b"},
        list[NotCaptured]: [NotCaptured(path="a", why="b")],
    }  # fmt: skip
    return {
        field.name: values[field.type] if field.type in values else get_args(field.type)[0]
        for field in msgspec.structs.fields(kind)
        if field.name not in ("seq", "at", "wall")
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_the_planes_can_be_shown(
    kind: type[Event], make_tape: MakeTape, rerail: Rerail
) -> None:
    tape = make_tape()
    fields = sample(tape, kind)
    number = tape.event(kind, **fields)
    tape.end()
    for options in ([], ["--json"], ["--raw"]):
        assert rerail("show", tape.path, f"e{number}", *options).status == 0
    shown = rerail("show", tape.path, f"e{number}").out
    assert str(kind.__struct_config__.tag) in shown
    assert "does not know" not in shown
    if any(isinstance(value, Body) for value in fields.values()):
        assert "what was said" in shown
    assert rerail("show", tape.path, f"e{number}", "--json").json["event"] == number


LINES = [
    (
        planes.BaselineLoaded(
            name="retry-cases", version="11", wanted_version="12", reported=True, check_id=1,
            at=0, wall=0,
        ),
        "baseline retry-cases version 11, where version 12 is named, as check 1 says",
    ),
    (
        planes.VerdictEmitted(
            verdict="STOP", rule="case failed", proposal_ref=REF, detail="x", at=0, wall=0
        ),
        "STOP by case failed: x",
    ),
    (
        planes.ApprovalRequested(
            approval_id="A-1", proposal_ref=REF, target="live", expires=UNTIL, at=0, wall=0
        ),
        "A-1: sha256:000102030405 on live, until 2026-09-21 14:13:20Z",
    ),
    (
        planes.ActionResult(attempt_id="T-1", outcome="unknown", timed_out=True, at=0, wall=0),
        "T-1: unknown, timed out",
    ),
    (
        planes.CheckResult(
            check_id=1, name="retry", outcome="failed", protected=True, at=0, wall=0
        ),
        "check 1: protected retry failed",
    ),
    (
        planes.CheckStarted(
            check_id=1, proposal_ref=REF, read_ref=bytes(32), argv=["c"], at=0, wall=0
        ),
        "check 1 of sha256:000102030405, which is not what is in it",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event", "line"), LINES, ids=lambda item: type(item).__name__)
def test_one_line_says_it(event: Event, line: str) -> None:
    assert words(event) == line


def test_other_events_are_none_of_these() -> None:
    assert plane_words(Event(at=0, wall=0)) == ""


def test_a_proposal_is_shown_path_by_path() -> None:
    changes = (
        Change(b"gone", 0, REF, b""),
        Change(b"made", 0o100644, b"", REF),
        Change(b"touched", 0o100644, bytes(32), REF),
    )
    lines = list(change_lines(encode_proposal(Proposal(bytes(32), changes))))
    assert lines[1:] == [
        "D gone 000102030405 → -",
        "A made - → 000102030405",
        "M touched 000000000000 → 000102030405",
    ]


def test_what_a_proposal_names_is_checked(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    missing = dict.fromkeys(("proposal_ref", "base", "tree"), bytes(32))
    tape.event(planes.ProposalMade, size=1, base_size=1, tree_size=1, **missing)
    tape.end()
    found = rerail("verify", tape.path)
    assert found.status == 1
    assert "content 000000000000 of event 2 is missing" in found.out


def test_the_proposal_of_a_lost_tape_is_saved(
    make_tape: MakeTape, rerail: Rerail, tmp_path: Path
) -> None:
    tape = make_tape()
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("first\n")
    number = tape.snapshot(folder, "start")
    tape.writer.flush()
    from rerail.tape.reader import Tape

    with Tape.open(tape.path) as opened:
        tree = opened.event(number).tree  # type: ignore[attr-defined]  # a snapshot
        size = opened.event(number).tree_size  # type: ignore[attr-defined]
    tape.event(planes.ScratchMade, folder="f", source="s", base=tree, base_size=size)
    left = tape.leave(tmp_path / "left.tape")
    assert rerail("verify", left, "--repair", tmp_path / "saved.tape").status == 0
    assert rerail("verify", tmp_path / "saved.tape").status == 0


def test_the_page_of_a_tape_says_how_the_task_went(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    contract = tape.body(0, "agent", [b"task: T-1\n"])
    tape.event(planes.TaskAccepted, task_id="T-1", version="8", contract=contract)
    tape.event(planes.VerdictEmitted, verdict="STOP", rule="case failed", proposal_ref=REF)
    tape.event(planes.TaskEnded, state="stopped")
    tape.end()
    lines = rerail("show", tape.path).lines
    assert "contract\ttask T-1 version 8 (e2)" in lines
    assert "verdict\tSTOP by case failed (e3)" in lines
    assert "outcome\tstopped (e4)" in lines
