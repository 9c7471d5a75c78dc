"""A condition of the instructions that a record does not meet, and the exceptions before it."""

import json
from typing import Any

import pytest

from rerail.trace.detect.unmet_condition import DETECTOR
from tests.trace.detect.stories import calls, reading, told, user

RULE = "Basic or saver seats can be cancelled only if the seat insurance is bought."
WITHIN = "All can be cancelled within 24 hours of booking, or if the play was called off."
EXCEPT = f"The current time is 2026-01-05 15:00:00 EST. {WITHIN} Otherwise, {RULE.lower()}"
SEAT = {
    "ticket_id": "T5512",
    "kind": "basic",
    "insurance": "no",
    "created_at": "2026-01-02T10:00:00",
}


def found(
    system: str, words: str = "Cancel T5512.", answer: str = "done", **seat: Any
) -> list[str]:
    seen = DETECTOR.find(
        reading(
            user(words),
            calls("get_ticket", "a", ticket_id="T5512"),
            told(json.dumps({**SEAT, **seat}), "a"),
            calls("cancel_ticket", "b", ticket_id="T5512"),
            told(answer, "b"),
            system=system,
        )
    )
    return [finding.what for finding in seen]


@pytest.mark.parametrize("system", [RULE, EXCEPT])
def test_a_record_that_says_no_is_told_of(system: str) -> None:
    (what,) = found(system)
    assert what == (
        "cancel_ticket was called for t5512, whose last record says kind basic, insurance no"
    )


@pytest.mark.parametrize(
    "seat",
    [
        {"insurance": "yes"},
        {"insurance": None},
        {"kind": "stalls"},
        {"insurance": "paid"},
        {"kind": "saver x"},
    ],
)
def test_a_record_that_meets_it_is_not(seat: dict[str, Any]) -> None:
    assert found(RULE, **seat) == []


def test_what_was_refused_changed_nothing() -> None:
    assert found(RULE, answer="Error: not insured") == []


def test_another_act_is_not_the_one_that_is_spoken_of() -> None:
    assert found(RULE.replace("cancelled", "exchanged")) == []


def test_what_is_recent_enough_is_an_exception() -> None:
    assert found(EXCEPT, created_at="2026-01-05T10:00:00") == []


@pytest.mark.parametrize("made", ["long ago", ""])
def test_where_it_cannot_be_reckoned_nothing_is_said(made: str) -> None:
    assert found(EXCEPT, created_at=made) == []
    assert found(EXCEPT.partition("EST. ")[2]) == []


def test_an_exception_that_a_person_spoke_of_may_hold() -> None:
    assert found(EXCEPT, "The play was called off: cancel T5512.") == []
