"""Numbers of model calls in a replay."""

from collections.abc import Callable
from typing import Any

from rerail.playback.steps import StepCounter


def test_calls_are_numbered_as_they_come_and_keep_their_number(ask: Callable[..., Any]) -> None:
    steps = StepCounter()
    assert [steps.matched(number) for number in (2, 2, 1, 3, 1)] == [1, 1, 2, 3, 2]
    assert [steps.missed(ask(body)) for body in ("a", "a", "b")] == [4, 4, 5]
    assert steps.matched(9) == 6
