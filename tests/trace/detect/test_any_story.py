"""No story, however odd, makes a detector fail; and looking twice finds the same."""

from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerail.llm.view import Message, Other, Reasoning, Text, ToolCall, ToolCallResponse
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect
from rerail.trace.story import Said, Story

WORDS = st.sampled_from(
    [
        "",
        "Yes, go ahead.",
        "Error: order W5512 not found",
        '{"order_id": "W5512", "status": "pending", "available": false, "items": [{"name": "a"}]}',
        '{"cards": {"card_10001": {"x": "7447"}, "card_10002": {}}}',
        '[{"id": "K10001"}, {"id": null}, 3]',
        '{"a": [1, 2',
        "You must confirm before. At most two gift cards.",
        "It can only be returned if its status is 'x'. Basic orders cannot be changed.",
        "Otherwise, basic or x orders can be cancelled only if the insurance is bought. 1 + 1 = 3",
        "There are 11 available things in W5512; the total is $5 and $6, altogether $12.",
        "Which one?",
        "http://a.example/b.pdf says so",
        "\ud800 \x00",
        "12.0",
    ]
) | st.text(max_size=60)
KEYS = st.sampled_from(["id", "order_id", "new_item_id", "amount", "items", "path", "", "status"])
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["cancel_order", "get_order", "calculate", "run_tests", "book", "", "Bash"])
IDS = st.sampled_from(["", "k1", "k2"])
PARTS = (
    st.builds(Text, WORDS)
    | st.builds(Reasoning, WORDS)
    | st.builds(Other, WORDS)
    | st.builds(ToolCall, IDS, NAMES, VALUES)
    | st.builds(ToolCallResponse, IDS, WORDS, st.booleans())
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool", ""]),
    st.lists(PARTS, max_size=3).map(tuple),
)
SCHEMAS = st.dictionaries(
    NAMES, st.dictionaries(st.text(max_size=5), VALUES, max_size=3), max_size=2
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    messages = draw(st.lists(MESSAGES, max_size=12))
    said = [
        Said(at, f"line {at}", one, finish_reason=draw(WORDS), error=draw(WORDS))
        for at, one in enumerate(messages, start=1)
    ]
    return Story("any", False, tuple(said), draw(SCHEMAS), draw(WORDS))


LONG = [
    "-",
    "1,",
    "a.",
    "a-",
    "what ",
    '{"',
    "$1 ",
    "W1 ",
    "total ",
    "1 a ",
    "yes ",
    "not ",
    "1+",
    "can be ",
]


@pytest.mark.parametrize("piece", LONG)
def test_a_long_text_of_anything_is_looked_at_in_good_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    call = ToolCall("k", "cancel_order", {"order_id": "W5512", "amount": 3, "note": text})
    messages = [
        Message("system", (Text("You must confirm before. " + text),)),
        Message("user", (Text(text),)),
        Message("assistant", (Text(text), call)),
        Message("tool", (ToolCallResponse("k", text),)),
        Message("assistant", (Text(text),)),
    ]
    said = tuple(Said(at, f"line {at}", one) for at, one in enumerate(messages, start=1))
    began = process_time()
    detect(Material((Story("any", False, said),)))
    assert process_time() - began < 10


@settings(max_examples=300)
@given(stories())
def test_any_story_can_be_looked_at(one: Story) -> None:
    found = detect(Material((one,)))
    assert found == detect(Material((one,)))
    for finding in found:
        assert finding.evidence
        assert all(place.source == "any" for place in finding.evidence)
        assert all(len(place.says) <= 160 for place in finding.evidence)
