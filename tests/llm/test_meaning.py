"""The view of model calls: the same whole or streamed, told from what a model server writes."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.llm.meaning import completion_in, completion_of, prompt_of
from rerail.llm.view import (
    Completion,
    Message,
    Other,
    Reasoning,
    Text,
    ToolCall,
    ToolCallResponse,
    Usage,
)
from rerail.testing.model import chat, messages, responses
from rerail.testing.model import conversation as model

SAID = model.Reply(
    "I shall look: “ü”.",
    (
        model.ToolCall("look", {"path": "a.txt", "lines": [1, 2]}, "call_1"),
        model.ToolCall("count", {}, "call_2"),
    ),
)
CALLS = (
    ToolCall("call_1", "look", {"path": "a.txt", "lines": [1, 2]}),
    ToolCall("call_2", "count", {}),
)
STREAM = "text/event-stream; charset=utf-8"
CHAT_ASKED = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image_url"}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Hm.",
            "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "seen"},
    ],
    "tools": [{"type": "function", "function": {"name": "look"}}],
}
MESSAGES_ASKED = {
    "model": "m",
    "max_tokens": 10,
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "tool_use", "id": "c", "name": "look", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": "seen", "is_error": True},
                {"type": "text", "text": "Go on."},
            ],
        },
    ],
    "tools": [{"name": "look", "input_schema": {}}],
}
RESPONSES_ASKED = {
    "model": "m",
    "instructions": "Be brief.",
    "previous_response_id": "resp_1",
    "input": [
        {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "seen"},
    ],
    "tools": [{"type": "function", "name": "look"}, {"type": "web_search"}],
}
GEMINI_ASKED = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}, {"inlineData": {}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"b": 2}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "look"}]}],
}


def dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


Made = tuple[str, bytes, bytes]


def chat_reply(answer: Callable[[model.Asked], model.Answer]) -> Made:
    asked = chat.read({**CHAT_ASKED, "stream_options": {"include_usage": True}})
    said = answer(asked)
    return "openai.chat_completions", dumped(chat.whole(said)), b"".join(chat.events(said))


def messages_reply(answer: Callable[[model.Asked], model.Answer]) -> Made:
    said = answer(messages.read(MESSAGES_ASKED))
    return "anthropic.messages", dumped(messages.whole(said)), b"".join(messages.events(said))


def responses_reply(answer: Callable[[model.Asked], model.Answer]) -> Made:
    said = answer(responses.read({"model": "m", "input": "Look."}))
    document = responses.whole(said)
    return "openai.responses", dumped(document), b"".join(responses.events(said, document))


MAKERS = [chat_reply, messages_reply, responses_reply]


def answered(asked: model.Asked) -> model.Answer:
    return model.Answer(asked, SAID, 1_700_000_000, random.Random(7))


@pytest.mark.parametrize("make", MAKERS)
def test_a_reply_means_the_same_whole_and_streamed(make: Callable[..., Made]) -> None:
    api, whole, stream = make(answered)
    told = completion_of(api, whole, "application/json")
    streamed = completion_of(api, stream, STREAM)
    assert told is not None
    assert streamed is not None
    assert told.message is not None
    assert told.message == streamed.message
    assert told.message.text == SAID.text
    assert told.message.tool_calls == CALLS
    assert (told.model, told.error) == (model.MODEL_NAME, "")
    assert told.finish_reason == streamed.finish_reason != ""
    assert told.usage == streamed.usage
    assert told.usage.input_tokens
    assert told.usage.output_tokens


@pytest.mark.parametrize("make", MAKERS)
def test_a_stream_that_broke_off_tells_what_came(make: Callable[..., Made]) -> None:
    api, _, stream = make(answered)
    for cut in range(0, len(stream), 97):
        told = completion_of(api, stream[:cut], STREAM)
        assert told is not None
        text = told.message.text if told.message else ""
        assert SAID.text.startswith(text)


def test_a_chat_request() -> None:
    told = prompt_of("openai.chat_completions", dumped(CHAT_ASKED))
    assert told is not None
    assert told.messages == (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("Look."), Other("image_url"))),
        Message("assistant", (Reasoning("Hm."), ToolCall("c", "look", {"a": 1}))),
        Message("tool", (ToolCallResponse("c", "seen"),)),
    )
    assert told.tools == ("look",)


def test_a_messages_request() -> None:
    told = prompt_of("anthropic.messages", dumped(MESSAGES_ASKED))
    assert told is not None
    assert told.messages == (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("Look."), Other("image"))),
        Message("assistant", (Reasoning("Hm."), ToolCall("c", "look", {"a": 1}))),
        Message("user", (ToolCallResponse("c", "seen", is_error=True), Text("Go on."))),
    )


def test_a_responses_request() -> None:
    told = prompt_of("openai.responses", dumped(RESPONSES_ASKED))
    assert told is not None
    assert told.messages == (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("Look."),)),
        Message("assistant", (Reasoning("Hm."),)),
        Message("assistant", (ToolCall("c", "look", {"a": 1}),)),
        Message("tool", (ToolCallResponse("c", "seen"),)),
    )
    assert told.tools == ("look", "web_search", "exec")
    assert told.continues == "resp_1"


def test_a_gemini_request() -> None:
    told = prompt_of("gemini.generate_content", dumped(GEMINI_ASKED))
    assert told is not None
    assert told.messages == (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("Look."), Other("inlineData"))),
        Message("assistant", (ToolCall("", "look", {"a": 1}),)),
        Message("tool", (ToolCallResponse("look", '{"b": 2}'),)),
    )


def test_a_gemini_stream() -> None:
    pieces: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [{"text": "I "}]}}], "responseId": "r"},
        {"candidates": [{"content": {"parts": [{"text": "see."}]}, "finishReason": "STOP"}]},
        {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}, "modelVersion": "g"},
    ]
    told = Completion(
        "g", Message("assistant", (Text("I see."),)), "STOP", Usage(5, 2), "r"
    )  # fmt: skip
    stream = b"".join(b"data: " + dumped(piece) + b"\n\n" for piece in pieces)
    assert completion_of("gemini.generate_content", stream, STREAM) == told
    assert completion_of("gemini.generate_content", dumped(pieces), "application/json") == told


def test_an_ollama_stream() -> None:
    pieces: list[dict[str, Any]] = [
        {"model": "o", "message": {"role": "assistant", "content": "I ", "thinking": "Hm."}},
        {"model": "o", "message": {"content": "see."}},
        {
            "message": {"tool_calls": [{"function": {"name": "t", "arguments": {}}}]},
            "done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2,
        },
    ]  # fmt: skip
    lines = b"\n".join(map(dumped, pieces))
    told = completion_of("ollama.chat", lines, "application/x-ndjson")
    assert told is not None
    assert told.message == Message(
        "assistant", (Reasoning("Hm."), Text("I see."), ToolCall("", "t", {}))
    )
    assert (told.finish_reason, told.usage) == ("stop", Usage(5, 2))


def test_a_turn_on_a_websocket() -> None:
    said = answered(responses.read({"model": "m", "input": "Look."}))
    document = responses.whole(said)
    turn = [responses.event_text(e).encode() for e in responses.event_documents(said, document)]
    told = completion_in("openai.responses", turn)
    assert told is not None
    assert told.message is not None
    assert told.message.tool_calls == CALLS


@pytest.mark.parametrize(
    ("api", "body", "error"),
    [
        ("openai.chat_completions", chat.error(429, "slow down"), "slow down"),
        ("openai.responses", chat.error(400, "what?"), "what?"),
        ("anthropic.messages", messages.error(529, "busy", None), "busy"),
        ("gemini.generate_content", {"error": {"code": 500, "message": "ouch"}}, "ouch"),
        ("ollama.chat", {"error": "no such model"}, "no such model"),
    ],
)
def test_an_error_is_told_as_one(api: str, body: dict[str, Any], error: str) -> None:
    told = completion_of(api, dumped(body), "application/json")
    assert told is not None
    assert (told.message, told.error) == (None, error)


FIELDS = (
    "role", "content", "parts", "text", "type", "messages", "input", "tools", "choices", "delta",
    "message", "output", "usage", "candidates", "tool_calls", "function", "arguments", "index",
    "response", "item", "error", "id", "name",
)  # fmt: skip
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=40,
)
APIS = st.sampled_from(
    [
        "openai.chat_completions", "openai.responses", "anthropic.messages",
        "gemini.generate_content", "ollama.chat",
    ]
)  # fmt: skip


@given(api=APIS, documents=st.lists(ANY, max_size=4))
def test_no_document_makes_a_view_fail(api: str, documents: list[Any]) -> None:
    for document in documents:
        prompt_of(api, dumped(document))
        completion_of(api, dumped(document), "application/json")
    stream = b"".join(b"data: " + dumped(document) + b"\n\n" for document in documents)
    completion_of(api, stream, STREAM)


def test_an_item_whose_kind_is_no_word_is_passed_over() -> None:
    prompt = prompt_of("openai.responses", dumped({"input": [{"type": []}, "x"]}))
    assert prompt is not None
    assert [message.parts for message in prompt.messages] == [()]


@pytest.mark.parametrize("body", [b"", b"\xff", b"{", b"[" * 100_000, b"null"])
def test_what_is_no_document_means_nothing(body: bytes) -> None:
    assert prompt_of("openai.chat_completions", body) is None
    assert completion_of("openai.chat_completions", body) is None
    assert prompt_of("aws.unknown", b"{}") is None
