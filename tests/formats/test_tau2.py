from pathlib import Path
from typing import Any

from rerail.formats.reading import import_file
from rerail.llm.view import Text, ToolCall, ToolCallResponse, Usage
from rerail.trace.story import Story
from tests.formats.files import document

POLICY = "Ask before any change."
LOOK = {"id": "c1", "name": "get_order", "arguments": {"order_id": "W5512"}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "assistant", "content": "Hello.", "timestamp": "2026-01-02T03:04:05"},
    {"role": "user", "content": "Look at W5512.", "usage": {"prompt_tokens": 99}},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [LOOK, {**LOOK, "id": "c2"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    },
    {
        "role": "tool",
        "tool_messages": [
            {"role": "tool", "id": "c1", "content": "pending", "error": False},
            {"role": "tool", "id": "c2", "content": "busy", "error": True},
        ],
    },
    {"role": "user", "content": None, "tool_calls": [{**LOOK, "requestor": "user"}]},
    {"role": "tool", "id": "u1", "content": "bars: 3", "requestor": "user"},
]


def simulated(tmp_path: Path, **fields: Any) -> Story:
    one = {"id": "s1", "task_id": "7", "messages": MESSAGES, "reward_info": {"reward": 0.0}}
    info = {"environment_info": {"policy": POLICY}}
    file = document(tmp_path / "r.json", {"info": info, "simulations": [{**one, **fields}]})
    imported = import_file(file)
    assert imported.format == "tau2-results"
    (story,) = imported.stories
    return story


def test_a_simulation_is_its_policy_and_what_was_said(tmp_path: Path) -> None:
    story = simulated(tmp_path, termination_reason="user_stop")
    assert [said.message.role for said in story.said] == [
        "system",
        "assistant",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assert story.said[0].message.parts == (Text(POLICY),)
    assert story.said[3].message.parts == (
        ToolCall("c1", "get_order", {"order_id": "W5512"}),
        ToolCall("c2", "get_order", {"order_id": "W5512"}),
    )
    assert story.said[5].message.parts == (ToolCallResponse("c2", "busy", True),)
    assert (story.ended, story.ids) == ("user_stop", {"task": "7", "run": "s1"})
    assert story.said[1].at is not None


def test_tokens_are_those_of_the_agent_and_not_of_the_simulated_person(tmp_path: Path) -> None:
    story = simulated(tmp_path)
    assert (story.said[2].usage, story.said[3].usage) == (None, Usage(7, 3))


def test_what_a_person_did_with_tools_of_their_own_is_named_as_missing(tmp_path: Path) -> None:
    (gap,) = [gap for gap in simulated(tmp_path).gaps if "tools of their own" in gap.what]
    assert gap.would_show
    assert not [g for g in simulated(tmp_path, messages=MESSAGES[:2]).gaps if "own" in g.what]


def test_a_simulation_has_its_own_policy_where_it_says_so(tmp_path: Path) -> None:
    assert simulated(tmp_path, policy="Another.").said[0].message.text == "Another."


def test_what_is_no_result_is_no_story(tmp_path: Path) -> None:
    story = simulated(tmp_path, messages=[{"role": "narrator", "content": "x"}, MESSAGES[0]])
    assert [said.message.text for said in story.said] == [POLICY, "Hello."]
