"""Which step is meant."""

import os

import pytest

from rerail.errors import NotOnTape, RerailError, UsageProblem, UserError
from rerail.rewind.choice import Chosen, choose, read_target
from rerail.rewind.scores import Check, Checking
from tests.rewind.conftest import Steps

HOW = Checking(dict(os.environ), trusted=True)
CHECK = Check.parse("cat log", "error")


@pytest.mark.parametrize(
    ("text", "target"), [("4", 4), ("s4", 4), ("best", "best"), ("last", "last")]
)
def test_what_is_written(text: str, target: int | str) -> None:
    assert read_target(text) == target


@pytest.mark.parametrize("text", ["", "0", "s0", "r4", "-1", "Best"])
def test_what_is_no_step(text: str) -> None:
    with pytest.raises(UsageProblem, match="is no step"):
        read_target(text)


def test_the_best_is_chosen_by_the_check(make_steps: Steps) -> None:
    tape = make_steps({"log": "error\nerror"}, {"log": "error"}, {"log": "error\nerror"})
    why = "the last of 3 steps with the fewest errors (1)"
    assert choose(tape, "best", CHECK, HOW) == Chosen(2, why)
    assert choose(tape, "last", None, HOW) == Chosen(3)
    assert choose(tape, 1, None, HOW) == Chosen(1)


def test_what_cannot_be_chosen(make_steps: Steps) -> None:
    tape = make_steps({"log": "error"})
    cases: list[tuple[int | str, Check | None, type[RerailError], str]] = [
        (2, None, NotOnTape, "no step s2"),
        ("best", None, UsageProblem, "needs a check"),
        ("best", Check.parse("exit 3", "x"), UserError, "no step has a score: status 3"),
    ]
    for to, check, kind, what in cases:
        with pytest.raises(kind, match=what):
            choose(tape, to, check, HOW)  # type: ignore[arg-type]
