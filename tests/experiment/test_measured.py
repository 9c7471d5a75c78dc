"""The rules fixed beforehand: which step is gone back to, and which failures are kept."""

import pytest

from rerail.experiment.measured import State, kept_failures, point

from .made_up import contract, key, run, states


@pytest.mark.parametrize(
    ("errors", "rule", "turn"),
    [
        ((None, 3, 1, 1, 2), "last-fewest", 3),
        ((None, 3, 1, 1, 2), "first-fewest", 2),
        ((None, 3, 1, 1, 2), "last", 4),
        ((None, 4, 0, 0), "last-fewest", 1),
        ((None, 0, 0), "last-fewest", 0),
        ((None, None, None), "last-fewest", 0),
        ((None, None, None), "first-fewest", 0),
        ((None, None, None), "last", 2),
        ((None, 5), "last-fewest", 1),
    ],
)
def test_the_step_gone_back_to(errors: tuple[int | None, ...], rule: str, turn: int) -> None:
    assert point(run(key(1), states=states(*errors)), rule).turn == turn


def test_only_a_step_before_a_model_call_is_gone_back_to() -> None:
    check = State(pause=99, tool="check", size=1, stored=1)
    for rule in ("last-fewest", "last"):
        assert point(run(key(1), states=[*states(None, 2), check]), rule).tool == "think"


@pytest.mark.parametrize(
    ("given", "kept", "counted"),
    [
        (("failed", "fixed", "failed", "failed"), [0, 2], 3),
        (("cheated", "broken", "failed"), [0, 2], 3),
        (("failed", "-", "failed"), [0], 1),
        (("-", "failed", "failed"), [], 0),
        (("failed", "fixed"), [0], 2),
        ((), [], 0),
    ],
)
def test_the_failures_kept_are_the_first_in_the_plans_order(
    given: tuple[str, ...], kept: list[int], counted: int
) -> None:
    firsts = [
        None if outcome == "-" else run(key(number), outcome)
        for number, outcome in enumerate(given)
    ]
    found, looked_at = kept_failures(firsts, contract(failures=2))
    assert [int(one.key.task[5:]) for one in found] == kept
    assert looked_at == counted
