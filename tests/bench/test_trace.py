from collections.abc import Sequence

import pytest

from bench.public import Run, first_other_write
from bench.trace import MADE_ON, chance, constants, near
from rerail.llm.view import Message, Text, ToolCall
from rerail.trace.detect.detectors import detectors
from rerail.trace.story import Said, Story


def run(length: int, labels: Sequence[int]) -> Run:
    said = tuple(
        Said(n, f"message {n}", Message("user", (Text("x"),))) for n in range(1, length + 1)
    )
    return Run(Story("run", False, said), (), True, frozenset(labels))


def test_near_is_one_message_off_at_most() -> None:
    assert near((5,), frozenset((6, 20)))
    assert not near((5,), frozenset((7,)))
    assert not near((), frozenset((7,)))


def test_chance_is_that_of_drawing_three_without_looking() -> None:
    assert chance(run(4, [1])) == 1
    assert chance(run(10, [5])) == pytest.approx(1 - (7 * 6 * 5) / (10 * 9 * 8))
    assert chance(run(10, [])) == 0


def test_constants_are_the_best_in_hindsight() -> None:
    assert constants([run(20, [3]), run(20, [4]), run(20, [15])]) == (2, 3)


def test_the_oracle_is_the_first_write_that_the_reference_has_not() -> None:
    right, wrong = (
        ToolCall("a", "cancel_order", {"id": 1}),
        ToolCall("b", "cancel_order", {"id": 2}),
    )
    said = tuple(
        Said(n, f"message {n}", Message("assistant", (call,)))
        for n, call in enumerate((right, wrong), start=1)
    )
    document = {"info": {"task": {"actions": [{"name": "cancel_order", "kwargs": {"id": 1}}]}}}
    assert first_other_write(document, Story("run", False, said)) == {2}


def test_every_rule_that_is_said_to_be_made_somewhere_is_there() -> None:
    assert set(MADE_ON) <= {one.name for one in detectors()}
