"""Two runs beside each other: the first record that says something else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rerail.tape import plane_records as planes
from rerail.testing.plane_tapes import PlaneTape, run_8894
from rerail.trace.against import first_otherwise
from rerail.trace.gathered import gather

Source = Callable[..., Any]


def test_the_first_difference_is_the_baseline(tmp_path: Path, source: Source) -> None:
    bad = gather([source(run_8894(tmp_path / "bad.tape"))])
    good = gather([source(run_8894(tmp_path / "good.tape", checked_by="12"))])
    found = first_otherwise(good, bad)
    assert found is not None
    assert found.bad is not None
    assert (found.bad.ref, found.differences) == ("e11", {"version": ("12", "11")})


def test_the_same_run_in_another_place_is_no_difference(tmp_path: Path, source: Source) -> None:
    one = gather([source(run_8894(tmp_path / "one.tape"))])
    tape = PlaneTape.begin(tmp_path / "two.tape", run_id="RUN-2", cwd="/elsewhere")
    tape.agents_plane()
    tape.check(baseline="11")
    other = gather([source(tape.end())])
    assert first_otherwise(one, other) is None


def test_a_record_that_only_one_of_them_has(tmp_path: Path, source: Source) -> None:
    good = gather([source(run_8894(tmp_path / "good.tape"))])
    bad = gather([source(run_8894(tmp_path / "bad.tape", without=["check.result"]))])
    here = first_otherwise(bad, good)
    assert here is not None
    assert (here.good, here.bad and here.bad.kind) == (None, "check.result")
    there = first_otherwise(good, bad)
    assert there is not None
    assert (there.bad, there.good and there.good.kind) == (None, "check.result")


def test_how_long_it_took_is_no_difference_unless_it_was_too_long(
    tmp_path: Path, source: Source
) -> None:
    def took(name: str, seconds: int, *, spent: bool = False) -> Any:
        tape = PlaneTape.begin(tmp_path / name)
        tape.agents_plane()
        tape.put(
            planes.BudgetChanged, component="runner", budget="seconds", limit=9, used=seconds,
            spent=spent,
        )  # fmt: skip
        tape.check()
        return gather([source(tape.end())])

    good = took("good.tape", 3)
    assert first_otherwise(good, took("bad.tape", 5)) is None
    late = first_otherwise(good, took("late.tape", 9, spent=True))
    assert late is not None
    assert late.bad is not None
    assert late.bad.kind == "budget.changed"
