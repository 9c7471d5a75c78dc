"""Files that real programs wrote of a run: what becomes of each, message by message.

All did the same errands: a command that fails, a file read and changed, a command that works.
`python -m tests.real_agents.written` makes the files anew, `make test-agents` reads fresh ones.
"""

from pathlib import Path

import pytest

from rerail.formats.reading import import_file
from rerail.llm.view import ToolCall, ToolCallResponse, Usage
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect
from rerail.trace.story import Story
from tests.formats.outline import messages, outline
from tests.formats.outlines import KEPT, OUTLINES, formats_of, same_gaps

FILES = sorted(path for path in KEPT.glob("*/*") if path.is_file())
LOOK = "grep -n final notes.txt && git status --short"


def kept(name: str, number: int = 1) -> Story:
    (path,) = (KEPT / name).glob(f"{number}.*")
    return import_file(path).stories[0]


@pytest.mark.parametrize("name", OUTLINES)
def test_each_message_is_said_once_in_its_order(name: str) -> None:
    paths = sorted((KEPT / name).iterdir())
    assert [import_file(path).format for path in paths] == formats_of(name, len(paths))
    assert [outline(import_file(path).stories[0]) for path in paths] == OUTLINES[name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_a_place_names_one_message_and_times_never_fall(path: Path) -> None:
    for story in import_file(path).stories:
        refs = [said.ref for said in story.said]
        assert len(set(refs)) == len(refs)
        times = [said.at for said in story.said if said.at is not None and not said.lane]
        assert times
        assert all(1796000000 * 10**9 < at < 1797000000 * 10**9 for at in times)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_what_is_not_there_is_named_and_nothing_else(path: Path) -> None:
    (story, *_) = import_file(path).stories
    assert same_gaps(path.parent.name, path.name, story)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_detectors_look_at_it_and_see_no_fault_of_the_importer(path: Path) -> None:
    """No call without an answer, no answer without a call: what an importer that loses something
    would bring about."""
    found = detect(Material(import_file(path).stories))
    assert not [one for one in found if one.detector in ("unanswered-call", "unknown-input")]


def test_claude_code_tells_tokens_reasons_and_errors() -> None:
    story = kept("claude-code", 2)
    first, failed = story.said[3], story.said[4]
    assert first.message.tool_calls[0].arguments["command"] == "ls nowhere"
    assert (first.model, first.finish_reason) == ("simulated-1", "tool_use")
    assert first.usage is not None
    assert first.usage.output_tokens == 20
    (told,) = failed.message.parts
    assert isinstance(told, ToolCallResponse)
    assert told.response.startswith("Exit code 2\nls: cannot access 'nowhere'")
    refused = story.said[-1]
    assert refused.error.startswith("API Error: 400")
    assert (refused.finish_reason, refused.usage, refused.model) == ("", None, "<synthetic>")


def test_a_sub_agent_of_claude_code_is_a_lane_in_a_stream_and_a_file_in_a_session() -> None:
    stream = kept("claude-code-stream")
    (call,) = [
        call
        for message in messages(stream, "assistant")
        for call in message.tool_calls
        if call.name == "Agent"
    ]
    assert {said.lane for said in stream.said} == {"", call.call_id}
    assert [said.lane for said in kept("claude-code", 1).said] == [""] * 5
    agent = kept("claude-code", 1).ids["agent"]
    gaps = [gap.what for gap in kept("claude-code", 2).gaps]
    assert f"sub-agents whose words are in files of their own: {agent}" in gaps


def test_a_stream_of_claude_code_does_not_count_what_is_not_written_yet() -> None:
    usages = [said.usage for said in kept("claude-code-stream").said if said.model]
    assert all(usage is not None and usage.output_tokens is None for usage in usages)


def test_codex_joins_the_items_of_a_reply_and_knows_which_command_failed() -> None:
    story = kept("codex")
    (call,) = story.said[6].message.tool_calls
    assert call.name == "exec"
    assert '"ls nowhere"' in call.arguments
    assert story.said[6].usage == Usage(15539, 25, 0, 0)
    (told,) = story.said[7].message.parts
    assert isinstance(told, ToolCallResponse)
    assert told.is_error
    assert "cannot access 'nowhere'" in told.response
    assert "The server had an error" in story.said[-1].error
    assert story.ended == "task_complete (error)"
    assert story.tools["spawn_agent"]["type"] == "object"


def test_qwen_code_tells_calls_answers_and_the_refusal() -> None:
    story = kept("qwen-code")
    (call,) = story.said[1].message.tool_calls
    assert (call.name, call.arguments["command"]) == ("run_shell_command", "ls nowhere")
    (told,) = story.said[2].message.parts
    assert isinstance(told, ToolCallResponse)
    assert told.call_id == call.call_id
    assert told.response.startswith("Command: ls nowhere\n")
    assert story.said[1].usage == Usage(19821, 17, 0, 0)
    assert story.said[-1].error.startswith("400 The server had an error")


@pytest.mark.parametrize(
    "name",
    [
        "openai-agents-chat",
        "otlp-openinference",
        "otlp-opentelemetry",
        "otlp-traceloop",
        "otlp-langgraph-openinference",
        "otlp-langgraph-traceloop",
        "langsmith",
        "inspect-eval",
        "inspect-json",
    ],
)
def test_a_trace_with_words_is_the_whole_conversation(name: str) -> None:
    story = kept(name)
    assert [said.message.text for said in story.said[:1]] == ["You look after files."]
    calls = [call for message in messages(story, "assistant") for call in message.tool_calls]
    assert [call.arguments for call in calls[:2]] == [
        {"command": "ls nowhere"},
        {"file_path": "notes.txt"},
    ]
    assert calls[3].arguments == {"command": LOOK}
    answers = [message.parts[0] for message in messages(story, "tool")]
    assert [getattr(one, "call_id", "") for one in answers] == [one.call_id for one in calls]
    assert answers[1] == ToolCallResponse(
        calls[1].call_id, "The plan is a draft.\nIt has two lines.\n"
    )
    usages = [said.usage for said in story.said if said.message.role == "assistant"]
    assert all(usage is not None and usage.output_tokens for usage in usages)


def test_a_response_span_keeps_the_tokens_and_says_that_words_are_missing() -> None:
    story = kept("openai-agents-responses")
    assert story.said[0].usage == Usage(320, 12)
    calls = [call for message in messages(story, "assistant") for call in message.tool_calls]
    assert calls[0] == ToolCall(calls[0].call_id, "bash", {"command": "ls nowhere"})
    assert story.ended == "ended"
