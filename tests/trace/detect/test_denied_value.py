"""What a thing is said not to have, against its own record."""

import json
from typing import Any

import pytest

from rerail.llm.view import Message
from rerail.trace.detect.denied_value import DETECTOR
from tests.trace.detect.stories import calls, reading, says, told

ORDER = {
    "order_id": "W5512",
    "customer_id": "C4471",
    "parcels": [{"tracking_id": ["TR80017"]}],
    "gift_wrap": "no",
    "discount": 0,
}
DENIED = "The order (#W5512) does not have a tracking number because it was cancelled."
Run = tuple[Message, ...]


def look(number: str, answer: dict[str, Any]) -> Run:
    return calls("get_order", number, order_id="W5512"), told(json.dumps(answer), number)


def found(*run: Message) -> list[tuple[int, str]]:
    return [(one.order, one.what) for one in DETECTOR.find(reading(*run))]


def test_the_record_that_holds_it_is_told_of_where_it_was_denied() -> None:
    (one,) = DETECTOR.find(reading(*look("a", ORDER), says("I look."), says(DENIED)))
    assert one.what == (
        "w5512 was said to have no such value, and its record holds "
        "parcels[0].tracking_id[0] TR80017"
    )
    assert one.evidence[-1].says == DENIED
    assert one.evidence[0].ref != one.evidence[1].ref
    assert one.contradicts


@pytest.mark.parametrize(
    "words",
    [
        "W5512 has no gift wrap.",
        "W5512 has no discount.",
        "W5512 has no voucher.",
        "It has no tracking number.",
        "If W5512 has no tracking number, it was not sent.",
        "W5512 has no tracking number?",
        "W5512 and W7001 has no tracking number.",
        "I cancel W5512 without a tracking number.",
        "C4471 has no tracking number.",
        "W7001 has no tracking number.",
    ],
)
def test_what_the_record_does_not_contradict_is_left_alone(words: str) -> None:
    assert found(*look("a", ORDER), says(words)) == []


def test_who_had_no_record_yet_contradicts_none() -> None:
    assert found(says(DENIED), *look("a", ORDER)) == []


def test_the_last_record_is_the_one_that_counts() -> None:
    bare = {**ORDER, "parcels": []}
    assert found(*look("a", ORDER), *look("b", bare), says(DENIED)) == []
    assert found(*look("a", bare), *look("b", ORDER), says(DENIED)) != []


def test_a_record_from_before_a_change_is_stale() -> None:
    cancel = calls("cancel_order", "b", order_id="W5512"), told("done", "b")
    assert found(*look("a", ORDER), *cancel, says(DENIED)) == []
    assert found(*look("a", ORDER), *cancel, *look("c", ORDER), says(DENIED)) != []
