"""The verdict: the first rule that finds something decides, and it is always the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.tape.plane_records import BaselineLoaded, CheckEnded, CheckResult, CheckStarted
from rerail.task import verdict
from rerail.task.verdict import Fact, judge

REF = bytes(32)
OTHER = b"\x01" * 32


def started(check: int = 1, **fields: Any) -> CheckStarted:
    given = {"proposal_ref": REF, "read_ref": REF, "argv": ["c"]} | fields
    return CheckStarted(check_id=check, at=0, wall=0, **given)


def ended(check: int = 1, **fields: Any) -> CheckEnded:
    return CheckEnded(check_id=check, at=0, wall=0, **({"status": 0} | fields))


def case(name: str = "a", outcome: Any = "passed", check: int = 1, **fields: Any) -> CheckResult:
    return CheckResult(check_id=check, name=name, outcome=outcome, at=0, wall=0, **fields)


def baseline(**fields: Any) -> BaselineLoaded:
    given = {"name": "b", "version": "12", "wanted_version": "12", "reported": True, "check_id": 1}
    return BaselineLoaded(at=0, wall=0, **(given | fields))


CASES = [
    ([started(), ended(), case()], verdict.ALL_PASSED),
    ([started(), ended(), case(), baseline()], verdict.ALL_PASSED),
    ([started(), ended(), case(), case("b", "skipped")], verdict.ALL_PASSED),
    ([], verdict.NO_CHECK),
    ([started()], verdict.CHECK_UNREADABLE),
    ([started(), ended(timed_out=True)], verdict.CHECK_UNREADABLE),
    ([started(), ended(status=137, signal=9), case()], verdict.CHECK_UNREADABLE),
    ([started(), ended(problem="no report")], verdict.CHECK_UNREADABLE),
    ([started(), ended()], verdict.CHECK_UNREADABLE),
    ([started(read_ref=OTHER), ended(), case()], verdict.OTHER_PROPOSAL),
    ([started(proposal_ref=OTHER), ended(), case()], verdict.OTHER_PROPOSAL),
    ([started(), ended(reported_ref=OTHER), case()], verdict.OTHER_PROPOSAL),
    ([started(), ended(), case("a", "failed")], verdict.CASE_FAILED),
    ([started(), ended(), case("a", "error")], verdict.CASE_FAILED),
    ([started(), ended(), case("a", "skipped", protected=True), case("b")], verdict.CASE_SKIPPED),
    ([started(), ended(), case("a", "skipped"), case("b", "skipped")], verdict.CASE_SKIPPED),
    ([started(), ended(), case("a", "failed"), baseline(version="11")], verdict.CASE_FAILED),
    ([started(), ended(), case(), baseline(version="11")], verdict.OTHER_BASELINE),
    (
        [started(), ended(), case(), baseline(digest=OTHER, wanted_digest=REF)],
        verdict.OTHER_BASELINE,
    ),
    ([started(), ended(status=1), case()], verdict.STATUS),
    (
        [started(), started(2), ended(), ended(2), case(), case(outcome="failed", check=2)],
        verdict.CASE_WAVERS,
    ),
    (
        [started(), started(2), ended(), ended(2), case(), case("b"), case(check=2)],
        verdict.CASE_WAVERS,
    ),
]


@pytest.mark.parametrize(("facts", "rule"), CASES, ids=range(len(CASES)))
def test_the_first_rule_that_finds_something_decides(facts: list[Fact], rule: str) -> None:
    judged = judge(facts, proposal_ref=REF, changes=1)
    assert judged.rule == rule
    assert judged.verdict == ("PASS" if rule == verdict.ALL_PASSED else "STOP")
    assert judged.detail


def test_nothing_proposed_passes_never() -> None:
    facts: list[Fact] = [started(), ended(), case()]
    assert judge(facts, proposal_ref=REF, changes=0).rule == verdict.NOTHING_PROPOSED


def test_a_link_that_leads_out_of_the_proposal_stops_it_whatever_the_checks_say() -> None:
    facts: list[Fact] = [started(), ended(), case()]
    judged = judge(facts, proposal_ref=REF, changes=1, leaving=["a", "b"])
    assert (judged.verdict, judged.rule, judged.detail) == ("STOP", verdict.LINK_LEAVES, "a, b")


def test_what_the_sensor_loaded_is_not_the_checkers_word() -> None:
    loaded = baseline(version="11", reported=False)
    assert (
        judge([started(), ended(), case(), loaded], proposal_ref=REF, changes=1).verdict == "PASS"
    )


def test_the_failed_cases_are_named() -> None:
    facts = [started(), ended(), case("a", "failed", protected=True), case("b", "error"), case("c")]
    assert judge(facts, proposal_ref=REF, changes=1).detail == "protected a, b"


def test_a_case_that_was_skipped_did_not_pass_and_each_counts_once() -> None:
    facts = [started(), ended(), case(), case("b", "skipped"), started(2), ended(2)]
    facts += [case(check=2), case("b", "skipped", check=2)]
    assert judge(facts, proposal_ref=REF, changes=1).detail == "1 of 2"


FACTS = st.lists(
    st.one_of(
        st.builds(started, st.integers(1, 2), read_ref=st.sampled_from([REF, OTHER])),
        st.builds(ended, st.integers(1, 2), status=st.integers(0, 1)),
        st.builds(
            case,
            st.sampled_from("ab"),
            st.sampled_from(["passed", "failed", "error", "skipped"]),
            st.integers(1, 2),
        ),
        st.builds(baseline, version=st.sampled_from(["11", "12"])),
    ),
    max_size=8,
)


@given(FACTS)
def test_nothing_passes_with_a_fault_in_it(facts: list[Fact]) -> None:
    judged = judge(facts, proposal_ref=REF, changes=1)
    if judged.verdict == "PASS":
        assert any(isinstance(fact, CheckResult) and fact.outcome == "passed" for fact in facts)
        for fact in facts:
            assert not (isinstance(fact, CheckResult) and fact.outcome in ("failed", "error"))
            assert not (isinstance(fact, CheckStarted) and fact.read_ref != REF)
            assert not (isinstance(fact, BaselineLoaded) and fact.version != "12")
            assert not (isinstance(fact, CheckEnded) and fact.status and fact.check_id == 1)


@given(FACTS)
def test_every_rule_is_in_the_reference(facts: list[Fact]) -> None:
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "reference" / "contract.md").read_text("utf-8")
    assert f"| `{judge(facts, proposal_ref=REF, changes=1).rule}` |" in page
