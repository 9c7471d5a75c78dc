from pathlib import Path
from typing import Any

from rerail.formats.reading import import_file, read
from rerail.llm.view import Other, Text, ToolCall, ToolCallResponse
from tests.formats.files import document, lines

TRACE = {"object": "trace", "id": "t1", "workflow_name": "desk"}


def span(number: int, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    times = {
        "started_at": f"2026-01-02T03:04:0{number}Z",
        "ended_at": f"2026-01-02T03:04:0{number}Z",
    }
    return {
        "object": "trace.span",
        "id": f"s{number}",
        "trace_id": "t1",
        "span_data": data,
        **times,
        **more,
    }


ASKED = [{"role": "user", "content": "Find it."}]
GENERATION = {
    "type": "generation",
    "input": ASKED,
    "output": [{"role": "assistant", "content": "It is here."}],
    "model": "gpt-4o",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
FUNCTION = {"type": "function", "name": "find", "input": '{"what": "it"}', "output": "here"}


def test_spans_are_put_in_their_order(tmp_path: Path) -> None:
    story = read(lines(tmp_path / "t.jsonl", TRACE, span(2, GENERATION), span(1, FUNCTION)))
    assert [said.message.role for said in story.said] == ["assistant", "tool", "user", "assistant"]
    assert story.said[0].message.parts == (ToolCall("s1", "find", {"what": "it"}),)
    assert story.said[1].message.parts == (ToolCallResponse("s1", "here"),)
    assert story.said[3].message.parts == (Text("It is here."),)
    assert story.ids == {"trace": "t1", "workflow": "desk"}


def test_what_was_said_before_is_said_once(tmp_path: Path) -> None:
    later = {
        **GENERATION,
        "input": [*ASKED, *GENERATION["output"], {"role": "user", "content": "More."}],
    }
    story = read(
        document(tmp_path / "t.json", {"data": [TRACE, span(1, GENERATION), span(2, later)]})
    )
    assert [said.message.text for said in story.said] == [
        "Find it.",
        "It is here.",
        "More.",
        "It is here.",
    ]


def test_a_response_span_has_no_words_and_that_is_a_gap(tmp_path: Path) -> None:
    error = {"message": "insufficient quota"}
    path = lines(
        tmp_path / "t.jsonl",
        TRACE,
        span(1, {"type": "response", "response_id": "resp_1"}),
        span(2, {"type": "response", "response_id": "resp_2"}, error=error),
    )
    imported = import_file(path)
    (story,) = imported.stories
    assert "model calls whose words are not in the export" in [gap.what for gap in story.gaps]
    assert [said.error for said in story.said] == ["", "insufficient quota"]
    assert story.said[0].message.parts == (Other("words that were not kept"),)
