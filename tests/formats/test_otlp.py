import json
from pathlib import Path
from typing import Any

from rerail.formats.reading import import_file, read
from rerail.llm.view import Reasoning, Text, ToolCall, ToolCallResponse
from tests.formats.files import attributes, document, lines

NO_WORDS = "model calls without messages: content was not captured"


def traced(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def span(start: int, **values: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": f"{start}000000000", "endTimeUnixNano": f"{start + 1}000000000"}
    return {
        "traceId": "f00d",
        "spanId": f"{start:016x}",
        "name": "chat",
        **times,
        "attributes": attributes(**values),
    }


ASKED = [{"role": "user", "parts": [{"type": "text", "content": "What is there?"}]}]
CALLED = [
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "Look first."},
            {"type": "tool_call", "id": "k1", "name": "list", "arguments": {"path": "."}},
        ],
        "finish_reason": "tool_call",
    }
]
CHAT = span(
    1700000000,
    gen_ai__operation__name="chat",
    gen_ai__request__model="gpt-4o",
    gen_ai__input__messages=json.dumps(ASKED),
    gen_ai__output__messages=json.dumps(CALLED),
    gen_ai__system_instructions=json.dumps([{"type": "text", "content": "Be brief."}]),
    gen_ai__response__finish_reasons=["tool_call"],
    gen_ai__usage__input_tokens=12,
    gen_ai__usage__output_tokens=3,
    gen_ai__conversation__id="conv-1",
)
TOOL = span(
    1700000002,
    gen_ai__operation__name="execute_tool",
    gen_ai__tool__name="list",
    gen_ai__tool__call__id="k2",
    gen_ai__tool__call__arguments='{"path": "/"}',
    gen_ai__tool__call__result="etc",
)


def test_messages_that_were_captured_are_the_conversation(tmp_path: Path) -> None:
    story = read(document(tmp_path / "t.json", traced(CHAT, TOOL)))
    roles = [said.message.role for said in story.said]
    assert roles == ["system", "user", "assistant", "assistant", "tool"]
    answer = story.said[2]
    assert answer.message.parts == (Reasoning("Look first."), ToolCall("k1", "list", {"path": "."}))
    assert (answer.model, answer.finish_reason, answer.at) == (
        "gpt-4o",
        "tool_call",
        1700000001 * 10**9,
    )
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 3)
    assert story.said[4].message.parts == (ToolCallResponse("k2", "etc"),)
    assert story.ids == {"trace": "f00d", "session": "conv-1"}
    assert NO_WORDS not in [gap.what for gap in story.gaps]


def test_a_tool_span_of_a_call_that_a_model_told_of_is_not_said_twice(tmp_path: Path) -> None:
    same = {
        **TOOL,
        "attributes": [*TOOL["attributes"][:2], *attributes(gen_ai__tool__call__id="k1")],
    }
    story = read(document(tmp_path / "t.json", traced(CHAT, same)))
    assert len(story.said) == 3


def test_what_was_not_captured_is_a_gap(tmp_path: Path) -> None:
    bare = span(1, gen_ai__operation__name="chat", gen_ai__request__model="gpt-4o")
    tool = span(2, gen_ai__operation__name="execute_tool", gen_ai__tool__name="list")
    gaps = [gap.what for gap in read(document(tmp_path / "t.json", traced(bare, tool))).gaps]
    assert NO_WORDS in gaps
    assert "tool calls without arguments or results: content was not captured" in gaps


def test_the_older_indexed_form_is_read(tmp_path: Path) -> None:
    old = span(
        1,
        gen_ai__request__model="gpt-4o",
        gen_ai__prompt__0__role="user",
        gen_ai__prompt__0__content="Hello.",
        gen_ai__completion__0__role="assistant",
        gen_ai__completion__0__content="Good day.",
        gen_ai__completion__0__finish_reason="stop",
    )
    story = read(document(tmp_path / "t.json", traced(old)))
    assert [said.message.parts for said in story.said] == [(Text("Hello."),), (Text("Good day."),)]
    assert story.said[1].finish_reason == "stop"


def test_openinference_is_read(tmp_path: Path) -> None:
    one = span(
        1,
        openinference__span__kind="LLM",
        llm__model_name="gpt-4o",
        llm__input_messages__0__message__role="user",
        llm__input_messages__0__message__content="Hello.",
        llm__output_messages__0__message__role="assistant",
        llm__output_messages__0__message__tool_calls__0__tool_call__function__name="find",
        llm__output_messages__0__message__tool_calls__0__tool_call__function__arguments="{}",
    )
    story = read(document(tmp_path / "t.json", traced(one)))
    assert story.said[1].message.parts == (ToolCall("", "find", {}),)
    assert story.said[1].model == "gpt-4o"


def test_a_file_of_lines_and_an_error(tmp_path: Path) -> None:
    failed = {
        **span(3, gen_ai__operation__name="chat"),
        "status": {"code": 2, "message": "429 slow down"},
    }
    imported = import_file(lines(tmp_path / "t.jsonl", traced(CHAT), traced(failed)))
    (story,) = imported.stories
    assert "429 slow down" in [said.error for said in story.said]


def test_traces_without_models_have_nothing_to_say(tmp_path: Path) -> None:
    (story,) = import_file(
        document(tmp_path / "t.json", traced(span(1, http__method="GET")))
    ).stories
    assert story.said == ()
    assert NO_WORDS in [gap.what for gap in story.gaps]


def test_messages_in_log_events_belong_to_their_span(tmp_path: Path) -> None:
    def told(name: str, **body: str) -> dict[str, Any]:
        return {
            "spanId": CHAT["spanId"],
            "eventName": f"gen_ai.{name}",
            "body": {"kvlistValue": {"values": attributes(**body)}},
        }

    bare = span(1700000000, gen_ai__operation__name="chat")
    records = [told("user.message", content="Go."), told("choice", content="Done.")]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    story = read(document(tmp_path / "t.json", traced(bare) | logs))
    assert [(said.message.role, said.message.text) for said in story.said] == [
        ("user", "Go."),
        ("assistant", "Done."),
    ]
    assert NO_WORDS not in [gap.what for gap in story.gaps]


def test_the_one_event_of_newer_conventions_is_read_as_the_span(tmp_path: Path) -> None:
    bare = span(1700000000, gen_ai__operation__name="chat")
    event = {
        "spanId": bare["spanId"],
        "attributes": attributes(
            event__name="gen_ai.client.inference.operation.details",
            gen_ai__input__messages=json.dumps(ASKED),
            gen_ai__output__messages=json.dumps(CALLED),
        ),
    }
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [event]}]}]}
    story = read(document(tmp_path / "t.json", traced(bare) | logs))
    assert [said.message.role for said in story.said] == ["user", "assistant"]
