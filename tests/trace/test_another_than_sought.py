"""A customer sought by one name, and a ticket filed under one of another name."""

import json

import pytest

from rerail.llm.view import Message, ToolCall, ToolCallResponse
from rerail.trace.detect.another_than_sought import DETECTOR
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding
from rerail.trace.story import Said, Story

ROBOTS = {"customer_id": "CUST-4417", "name": "Acme Robots"}
ROBOTICS = {"customer_id": "CUST-4471", "name": "Acme Robotics"}


def story(sought: str, given: object, filed: str) -> Story:
    """An agent looks a customer up and files a ticket."""
    calls = [
        ToolCall("a", "get_customer", {"name": sought}),
        ToolCall("b", "file_ticket", {"customer_id": filed}),
    ]
    messages = [
        Message("user", ()),
        Message("assistant", (calls[0],)),
        Message("tool", (ToolCallResponse("a", json.dumps(given)),)),
        Message("assistant", (calls[1],)),
        Message("tool", (ToolCallResponse("b", "{}"),)),
    ]
    said = tuple(Said(n, f"message {n}", message) for n, message in enumerate(messages, 1))
    return Story("A", True, said)


def found(told: Story) -> list[Finding]:
    return list(DETECTOR.find(Reading(told)))


def test_another_than_was_sought() -> None:
    (finding,) = found(story("Acme Robotics", [ROBOTS, ROBOTICS], "CUST-4417"))
    assert finding.what == (
        "file_ticket was given CUST-4417, but get_customer had been asked for “Acme Robotics”, "
        "which is CUST-4471"
    )
    assert [item.ref for item in finding.evidence] == ["message 2", "message 3", "message 4"]
    assert "CUST-4471" in finding.contradicts


@pytest.mark.parametrize(
    ("sought", "given", "filed"),
    [
        ("Acme Robotics", [ROBOTS, ROBOTICS], "CUST-4471"),  # the one that was sought
        ("acme", [ROBOTS, ROBOTICS], "CUST-4417"),  # none holds the word as it is
        ("Acme Robotics", [ROBOTS], "CUST-4417"),  # there was no other
        ("Acme Robotics", [ROBOTS, ROBOTICS], "CUST-9999"),  # it is of another record
        ("Acme Robotics", "no list", "CUST-4417"),
    ],
)
def test_what_says_nothing(sought: str, given: object, filed: str) -> None:
    assert found(story(sought, given, filed)) == []
