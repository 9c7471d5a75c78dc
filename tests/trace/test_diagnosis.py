"""The first broken assumption, in each category; and where the records do not decide."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape import plane_records as planes
from rerail.tape.records import HttpReplyBody, ProcessStarted
from rerail.testing import plane_tapes
from rerail.testing.plane_tapes import PROPOSAL, PlaneTape, run_8894

Investigate = Callable[..., Any]
NewTape = Callable[..., PlaneTape]


def test_the_variant_a_policy_in_the_input_is_violated(
    tmp_path: Path, investigated: Investigate
) -> None:
    seen = investigated(run_8894(tmp_path / "run.tape", checked_by="12"))
    assert (seen.diagnosis.classification, seen.first()) == ("agent", "proposal.made")
    assert "retry-policy 4" in seen.diagnosis.first.what
    assert not seen.diagnosis.orchestration
    assert seen.standing(4) == "holds"
    assert "STOP follows" in seen.links[3].because


def test_a_constraint_of_the_contract_is_violated(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(tests="max-retries")
    seen = investigated(tape.end())
    assert seen.diagnosis.classification == "agent"
    assert "No client may retry more than five times" in seen.diagnosis.first.contradicts


def test_a_rule_that_nobody_was_given_is_the_task_s(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(tests="backoff-policy")
    seen = investigated(tape.end())
    assert (seen.diagnosis.classification, seen.first()) == ("task", "check.result")
    assert "stands in nothing the agent was given" in seen.diagnosis.first.what


def test_an_input_of_another_version_comes_first(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.agents_plane(policy="3")
    tape.check()
    seen = investigated(tape.end())
    assert (seen.diagnosis.classification, seen.first()) == ("task", "observation.read")
    assert [one.category for one in seen.diagnosis.later] == ["agent"]


def test_what_stands_before_a_broken_link_comes_first(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.agents_plane(policy="3")
    tape.check(baseline="11")
    seen = investigated(tape.end())
    assert seen.diagnosis.classification == "task"
    assert seen.diagnosis.orchestration
    assert [one.detector for one in seen.diagnosis.later] == ["baseline-link"]


def test_a_budget_used_up(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.put(planes.BudgetChanged, budget="turns", limit=10, used=10, spent=True)
    seen = investigated(tape.end())
    assert (seen.diagnosis.classification, seen.first()) == ("runtime", "budget.changed")


@pytest.mark.parametrize(
    ("ended", "what"),
    [({"timed_out": True}, "did not end"), ({"problem": "no JSON"}, "cannot be read: no JSON")],
)
def test_a_check_that_cannot_be_read(
    plane_tape: NewTape, investigated: Investigate, ended: dict[str, Any], what: str
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.put(planes.CheckStarted, check_id=1, proposal_ref=PROPOSAL, read_ref=PROPOSAL, argv=["c"])
    tape.put(planes.CheckEnded, check_id=1, status=0, **ended)
    tape.put(planes.VerdictEmitted, verdict="STOP", rule="r", proposal_ref=PROPOSAL, checks=[1])
    seen = investigated(tape.end())
    assert seen.diagnosis.classification == "check"
    assert what in seen.diagnosis.first.what
    assert seen.standing(4) == "holds"


def test_a_case_that_wavers(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.put(planes.CheckStarted, check_id=1, proposal_ref=PROPOSAL, read_ref=PROPOSAL, argv=["c"])
    for outcome in ("passed", "failed"):
        tape.put(planes.CheckResult, check_id=1, name="slow", outcome=outcome)
    tape.put(planes.CheckEnded, check_id=1, status=0)
    seen = investigated(tape.end())
    assert (seen.diagnosis.classification, seen.first()) == ("check", "check.result")
    assert "once passed and once failed" in seen.diagnosis.first.what


def test_a_target_that_rejects(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act("rejected", after="limit 3", reason="frozen")
    seen = investigated(tape.end("rejected"))
    assert (seen.diagnosis.classification, seen.first()) == ("target", "action.result")
    assert seen.safety.state == "contained"


def test_an_approval_that_does_not_hold(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.put(planes.ApprovalUnusable, approval_id="A-1", proposal_ref=PROPOSAL, target="payments",
             why="expired")  # fmt: skip
    seen = investigated(tape.end("refused"))
    assert (seen.diagnosis.classification, seen.first()) == ("boundary", "approval.unusable")


def test_a_tool_call_without_its_reply_before_it_leaves_the_run_unresolved(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    import json

    tape = plane_tape()
    tape.recording.chat(1)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reply = {"model": "m", "choices": [{"index": 0, "message": message,
                                        "finish_reason": "tool_calls"}]}  # fmt: skip
    headers = "Content-Type: application/json\r\n"
    tape.recording.reply(1, [json.dumps(reply).encode()], headers=headers)
    tape.agents_plane()
    tape.check()
    seen = investigated(tape.end())
    assert seen.diagnosis.classification == "unresolved"
    assert "look was called" in seen.diagnosis.because
    assert seen.diagnosis.candidates[0].detector == "rule-broken"


KINDS = (
    "task.accepted", "observation.read", "baseline.loaded", "scratch.made", "agent.contained",
    "budget.changed", "proposal.made", "check.started", "check.ended", "check.result",
    "verdict.emitted", "approval.requested", "approval.decided", "approval.consumed",
    "action.attempted", "action.result", "target.read", "cleanup.done", "task.ended", "run.ended",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_whichever_kind_is_taken_out_is_missing_and_nothing_rests_on_it(
    plane_tape: NewTape, investigated: Investigate, kind: str
) -> None:
    tape = plane_tape(without=[kind])
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act()
    seen = investigated(tape.end("applied"))
    assert seen.missing(), kind
    # A clean run: whatever is concluded now would rest on what is not there.
    assert seen.diagnosis.first is None, seen.diagnosis.first
    assert not [link for link in seen.links if link.standing == "broken"]
    refs = {record.ref for record in seen.found.deciding}
    for question in seen.safety.questions:
        assert {place.ref for place in question.evidence} <= refs
    assert seen.safety.state == _SAFETY.get(kind, "applied"), seen.safety.because


_SAFETY = {
    "action.attempted": "unresolved",
    # The target is not as it was before, whatever the runner was told.
    "action.result": "partially applied",
    "target.read": "unresolved",
}


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if not kind.startswith(("approval.", "action.", "target."))],
)
def test_and_in_the_documents_own_example(
    tmp_path: Path, investigated: Investigate, kind: str
) -> None:
    seen = investigated(run_8894(tmp_path / "run.tape", without=[kind]))
    assert seen.missing(), kind
    named = {record.ref for record in seen.found.deciding}
    if seen.diagnosis.first is not None:
        assert {place.ref for place in seen.diagnosis.first.evidence} <= named
    if kind in ("task.accepted", "baseline.loaded"):
        assert seen.standing(2) == "cannot be checked"
        assert seen.diagnosis.classification == "unresolved"
    if kind in ("verdict.emitted", "proposal.made", "check.result", "run.ended", "task.ended"):
        assert seen.safety.state == "unresolved"


# Records of an ordinary run.


def exchange(tape: PlaneTape, number: int, *parts: str) -> None:
    """A POST to a service, of which only these parts are on record."""
    run = tape.recording
    if "request" in parts:
        run.request(number, b"{}", method="POST", host="shop.example.com")
    if "head" in parts:
        run.reply_head(number)
    if "body" in parts:
        run.event(
            HttpReplyBody, component="origin", exchange_id=number, ended="complete", body=None
        )


PARTS = {
    ("head", "body"): "no record of the request of r1",
    ("request", "body"): "no record of the head of the reply to r1",
    ("request", "head"): "no record of how r1 ended",
    ("request",): "no record of how r1 ended",
}


@pytest.mark.parametrize("parts", PARTS)
def test_a_part_of_an_exchange_that_is_taken_out_is_missing_and_blames_no_tool(
    plane_tape: NewTape, investigated: Investigate, parts: tuple[str, ...]
) -> None:
    tape = plane_tape()
    exchange(tape, 1, *parts)
    exchange(tape, 2, "request", "head", "body")
    seen = investigated(tape.end())
    assert seen.missing() >= {PARTS[parts]}
    assert seen.diagnosis.first is None
    assert seen.standing(3) == ("cannot be checked" if "request" not in parts else "holds")
    assert seen.safety.state == "unresolved"


def test_a_request_that_is_gone_may_have_changed_something(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    exchange(tape, 1, "head", "body")
    reached = investigated(tape.end()).safety.questions[0]
    assert reached.answer == "unknown"


def test_a_reply_that_stands_before_its_request_breaks_the_link(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    exchange(tape, 1, "head")
    exchange(tape, 1, "request", "body")
    seen = investigated(tape.end())
    assert seen.standing(3) == "broken"
    assert "only after it" in seen.links[2].because


def test_a_process_and_a_folder_that_no_record_shows_are_missing(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape(capture={"workspace": "at the start, each model call and the end"})
    tape.put(ProcessStarted, process_id=1, argv=["agent"], cwd="/")
    found = investigated(tape.end()).missing()
    assert found >= {
        "no record of the end of the agent's process", "no record of the agent's folder"
    }  # fmt: skip


def test_a_contract_without_a_budget_calls_for_no_record_of_one(
    plane_tape: NewTape, investigated: Investigate, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = plane_tape(without=["budget.changed"])
    without = plane_tapes.CONTRACT.replace(b"budget: {turns: 10}\n", b"")
    monkeypatch.setattr(plane_tapes, "CONTRACT", without)
    tape.agents_plane()
    tape.check(failed=False)
    assert "no record of the budget" not in investigated(tape.end("checked")).missing()


def test_a_missing_record_of_the_end_excludes_nothing_before_it(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act("unknown", after=None)
    seen = investigated(tape.end("unresolved"))
    assert "no record of the reconciliation" in seen.missing()
    assert seen.diagnosis.classification == "target"
    assert "cannot be excluded" not in seen.diagnosis.because


def test_a_lost_tape_s_missing_end_excludes_nothing_before_it(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape(without=["cleanup.done", "task.ended", "run.ended"])
    tape.agents_plane()
    seen = investigated(tape.end())
    assert seen.diagnosis.first.detector == "runner-lost"
    assert "no record of the run's end" in seen.missing()
    assert "the run's end" not in seen.diagnosis.because
