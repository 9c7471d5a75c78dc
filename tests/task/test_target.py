"""What the end of an action's command says about the target: mostly that nothing is known."""

import pytest

from rerail.launch.errand import Errand
from rerail.task.target import outcome_of

CASES = [
    (Errand(0), "accepted"),
    (Errand(0, output=b"anything"), "accepted"),
    (Errand(22), "rejected"),
    (Errand(1), "unknown"),
    (Errand(137, 9), "unknown"),
    (Errand(137, 9, timed_out=True), "unknown"),
    (Errand(22, timed_out=True), "unknown"),
    (Errand(0, timed_out=True), "unknown"),
]


@pytest.mark.parametrize(("done", "outcome"), CASES, ids=range(len(CASES)))
def test_only_a_clear_answer_in_time_is_known(done: Errand, outcome: str) -> None:
    found, reason = outcome_of(done, rejects=[22])
    assert found == outcome
    assert bool(reason) == (outcome != "accepted")
