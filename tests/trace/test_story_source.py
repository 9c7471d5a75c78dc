"""An imported conversation as a source: a record a message, and for each call and result in it."""

import pytest

from rerail.errors import NotOnTape
from rerail.llm.view import Message, Text, ToolCall, ToolCallResponse
from rerail.trace.story import Gap, Said, Story
from rerail.trace.story_source import StorySource

STORY = Story(
    "B",
    recorded=False,
    said=(
        Said(1, "line 1", Message("user", (Text("Look it up."),)), at=5),
        Said(2, "line 2", Message("assistant", (Text("So."), ToolCall("c1", "look", {"a": 1})))),
        Said(3, "line 3", Message("tool", (ToolCallResponse("c1", "found"),))),
        Said(4, "line 4", Message("assistant", ()), error="503 overloaded"),
    ),
    gaps=(Gap("no end", "how it ended"),),
    ids={"run": "s-1"},
)


@pytest.fixture
def source() -> StorySource:
    return StorySource("B", "session.jsonl", STORY)


def test_each_message_is_a_record_with_what_joins_it(source: StorySource) -> None:
    found = [(one.ref, one.kind, one.id("call")) for one in source.records()]
    assert found == [
        ("line 1", "said.user", ""),
        ("line 2", "call.asked", "c1"),
        ("line 3", "call.told", "c1"),
        ("line 4", "said.assistant", ""),
    ]
    assert {one.id("run") for one in source.records()} == {"s-1"}
    assert next(source.records()).wall == 5


def test_it_shows_nothing_by_absence(source: StorySource) -> None:
    assert (source.recorded, source.whole, source.events()) == (False, False, None)
    assert source.gaps == STORY.gaps


def test_a_place_is_opened_with_its_words(source: StorySource) -> None:
    assert source.evidence("line 2") == "assistant: So.\nlook({'a': 1})"
    assert source.evidence("line 4") == "assistant: 503 overloaded"
    with pytest.raises(NotOnTape):
        source.evidence("line 9")
