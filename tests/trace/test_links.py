"""The six link checks: each fires on its own fault, stays silent on a clean run, and knows when it
cannot say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape import plane_records as planes
from rerail.testing.plane_tapes import MINUTE, OTHER, PROPOSAL, PlaneTape, run_8894
from rerail.testing.tapes import WALL

Investigate = Callable[..., Any]
NewTape = Callable[..., PlaneTape]


def clean(tape: PlaneTape) -> Path:
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act()
    return tape.end("applied")


def test_a_clean_run_breaks_no_link(plane_tape: NewTape, investigated: Investigate) -> None:
    seen = investigated(clean(plane_tape()))
    standing = [link.standing for link in seen.links]
    assert standing == ["holds", "holds", "cannot be checked", "holds", "holds", "holds"]
    assert seen.diagnosis.classification == "unresolved"
    assert not seen.diagnosis.candidates
    assert not seen.diagnosis.missing


def test_1_the_checker_read_another_proposal(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(read=OTHER)
    seen = investigated(tape.end())
    assert seen.standing(1) == "broken"
    assert (seen.diagnosis.classification, seen.first()) == ("check", "check.started")
    assert seen.diagnosis.orchestration


def test_1_the_checker_says_that_it_read_another(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.put(planes.CheckStarted, check_id=1, proposal_ref=PROPOSAL, read_ref=PROPOSAL, argv=["c"])
    tape.put(planes.CheckEnded, check_id=1, status=0, reported_ref=OTHER)
    seen = investigated(tape.end())
    assert seen.standing(1) == "broken"
    assert seen.first() == "check.ended"


def test_2_the_checker_went_by_another_baseline(tmp_path: Path, investigated: Investigate) -> None:
    seen = investigated(run_8894(tmp_path / "run.tape"))
    assert seen.standing(2) == "broken"
    assert (seen.diagnosis.classification, seen.first()) == ("check", "baseline.loaded")
    assert seen.diagnosis.first.contradicts == "the contract names baseline retry-cases version 12"
    assert [one.detector for one in seen.diagnosis.unread] == ["rule-broken"]
    assert seen.safety.state == "contained"


def test_2_the_same_version_with_another_content(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.put(planes.TaskAccepted, task_id="T", version="1", contract=tape.content("task: T"))
    tape.put(planes.BaselineLoaded, name="b", version="1", wanted_version="1", digest=OTHER,
             wanted_digest=PROPOSAL)  # fmt: skip
    seen = investigated(tape.end())
    assert seen.standing(2) == "broken"


def test_3_a_reply_whose_request_is_not_on_record(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    """It may be missing as well as never made: that blames nobody."""
    tape = plane_tape()
    tape.recording.request(1)
    tape.recording.reply(2, [b"who asked?"])
    seen = investigated(tape.end())
    assert seen.standing(3) == "cannot be checked"
    assert "the request of r2 is not on record" in seen.links[2].because
    assert seen.diagnosis.first is None


def test_3_a_reply_to_what_was_answered_already(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.recording.request(1)
    tape.recording.reply(1, [b"yes"])
    tape.recording.reply(1, [b"no"])
    assert investigated(tape.end()).standing(3) == "broken"


def test_3_replies_to_their_requests(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.recording.request(1)
    tape.recording.request(2)
    tape.recording.reply(2, [b"b"])
    tape.recording.reply(1, [b"a"])
    assert investigated(tape.end()).standing(3) == "holds"


@pytest.mark.parametrize(("failed", "verdict"), [(True, "PASS"), (False, "STOP")])
def test_4_a_verdict_that_does_not_follow(
    plane_tape: NewTape, investigated: Investigate, failed: bool, verdict: Any
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=failed, verdict=verdict)
    seen = investigated(tape.end())
    assert seen.standing(4) == "broken"
    assert (seen.diagnosis.classification, seen.first()) == ("check", "verdict.emitted")


@pytest.mark.parametrize("kind", ["check.result", "check.ended"])
def test_4_nothing_is_made_of_results_that_are_not_there(
    plane_tape: NewTape, investigated: Investigate, kind: str
) -> None:
    tape = plane_tape(without=[kind])
    assert investigated(clean(tape)).standing(4) == "cannot be checked"


@pytest.mark.parametrize(
    ("approval", "what"),
    [
        ({"proposal": OTHER}, "is for the proposal"),
        ({"target": "billing"}, "is for the target billing, and payments was used"),
        ({"minutes": 0}, "had expired"),
        ({"decision": "refused"}, "which was refused"),
    ],
)
def test_5_an_approval_that_does_not_fit(
    plane_tape: NewTape, investigated: Investigate, approval: dict[str, Any], what: str
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve(**approval)
    tape.act()
    seen = investigated(tape.end("applied"))
    assert seen.standing(5) == "broken"
    assert what in seen.links[4].because
    assert seen.diagnosis.classification == "boundary"


def test_5_an_approval_used_twice(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act()
    tape.act(attempt="T-2")
    seen = investigated(tape.end("applied"))
    assert "used 2 times" in seen.links[4].because
    assert seen.diagnosis.first.evidence[0].says.startswith("T-2")


def test_5_an_action_without_an_approval(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=False)
    tape.act(approval="")
    seen = investigated(tape.end("applied"))
    assert "without an approval" in seen.links[4].because


def test_5_an_approval_granted_afterwards(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=False)
    tape.act()
    tape.put(planes.ApprovalDecided, approval_id="A-1", decision="granted", proposal_ref=PROPOSAL,
             target="payments", expires=WALL + 15 * MINUTE, who="ada", how="command")  # fmt: skip
    assert "was granted after" in investigated(tape.end("applied")).links[4].because


def test_5_no_record_of_the_decision(plane_tape: NewTape, investigated: Investigate) -> None:
    seen = investigated(clean(plane_tape(without=["approval.decided"])))
    assert seen.standing(5) == "cannot be checked"


def test_6_cleanup_of_another_workspace(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check()
    seen = investigated(tape.end(folder="/scratch/2"))
    assert seen.standing(6) == "broken"
    assert seen.diagnosis.classification == "runtime"
