"""The second derivation: the same record as the first, from the stored bytes alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape import plane_records as planes
from rerail.tape.reader import Tape
from rerail.testing.plane_tapes import OTHER, PlaneTape, run_8894
from rerail.trace.check import first_place
from rerail.trace.second import Second, second_derivation

NewTape = Callable[..., PlaneTape]


def again(path: Path) -> Second | None:
    with Tape.open(path) as tape:
        return second_derivation(tape.stored_events(), tape.blob)


def test_the_documents_own_example(tmp_path: Path) -> None:
    assert again(run_8894(tmp_path / "a.tape")) == Second(11, "check")
    assert again(run_8894(tmp_path / "b.tape", checked_by="12")) == Second(8, "agent")


def test_a_clean_run_has_none(plane_tape: NewTape) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act()
    assert again(tape.end("applied")) is None


def stale(tape: PlaneTape) -> None:
    tape.agents_plane(policy="3")
    tape.check()


def misread(tape: PlaneTape) -> None:
    tape.agents_plane()
    tape.check(read=OTHER)


def not_following(tape: PlaneTape) -> None:
    tape.agents_plane()
    tape.check(verdict="PASS")


def other_approval(tape: PlaneTape) -> None:
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve(proposal=OTHER)
    tape.act()


def used_twice(tape: PlaneTape) -> None:
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act()
    tape.act(attempt="T-2")


def without_approval(tape: PlaneTape) -> None:
    tape.agents_plane()
    tape.check(failed=False)
    tape.act(approval="")


def rejected(tape: PlaneTape) -> None:
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act("rejected", after="limit 3")


def nothing_done(tape: PlaneTape) -> None:
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act(after="limit 3")


def spent(tape: PlaneTape) -> None:
    tape.agents_plane()
    tape.put(planes.BudgetChanged, budget="turns", limit=10, used=10, spent=True)


FAULTS = (
    stale, misread, not_following, other_approval, used_twice, without_approval, rejected,
    nothing_done, spent,
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_both_ways_lead_to_the_same_record(
    plane_tape: NewTape, investigated: Callable[..., Any], fault: Callable[[PlaneTape], None]
) -> None:
    tape = plane_tape()
    fault(tape)
    path = tape.end()
    found = again(path)
    seen = investigated(path).diagnosis
    assert found is not None
    assert (f"A e{found.order}", found.category) == (first_place(seen), seen.classification)
