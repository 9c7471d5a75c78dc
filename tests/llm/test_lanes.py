"""Model calls beside the main conversation."""

import json
from typing import Any

from rerail.llm.lanes import lanes
from rerail.llm.steps import call_of
from rerail.llm.turns import Bodies
from rerail.tape.exchange import joined
from rerail.tape.records import Body, HttpRequest

TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}, "description": "x" * 900}]
MAIN = {
    "system": "You are an agent.",
    "tools": TOOLS,
    "messages": [
        {"role": "user", "content": "Mend it"},
        {"role": "assistant", "content": "The plan is to read first."},
        {"role": "user", "content": "Go on"},
    ],
}
TITLE = {"system": "Give this conversation a title.", "messages": [
    {"role": "user", "content": "Mend it"}
]}  # fmt: skip


def named(*calls: tuple[Any, str]) -> dict[int, str]:
    """The lanes of calls, each a request's body and what was answered."""
    texts = [json.dumps(asked).encode() for asked, _ in calls]
    events = [
        HttpRequest(seq=number, at=0, wall=0, exchange_id=number, connection_id=1, scheme="https",
                    host="api.anthropic.com", port=443, head=b"POST /v1/messages HTTP/1.1\r\n\r\n",
                    body=Body(digest=b"", size=len(text)))
        for number, text in enumerate(texts, start=1)
    ]  # fmt: skip
    read = {}
    for number, (text, (_, answer)) in enumerate(zip(texts, calls, strict=True), start=1):
        reply = {"type": "message", "content": [{"type": "text", "text": answer}]}
        read[number] = Bodies(text, json.dumps(reply).encode(), "application/json")
    found = joined(events)
    asked = [(exchange, call) for exchange in found if (call := call_of(exchange))]
    return lanes(asked, lambda exchange: read[exchange.exchange_id])


def test_a_title_call_is_beside_the_main_ones() -> None:
    assert named((TITLE, "A word is mended"), (MAIN, "done")) == {1: "title"}
    assert named((MAIN, "done"), (TITLE, "A word is mended")) == {2: "title"}


def test_a_lane_is_named_by_what_it_is_for() -> None:
    other = {**TITLE, "system": "Say it in short."}
    quota = {"messages": [{"role": "user", "content": "quota"}]}
    summary = {**TITLE, "system": "Summarise this."}
    found = named((MAIN, ""), (other, "short"), (quota, "#"), (summary, "it was mended"))
    assert found == {2: "side", 3: "quota", 4: "summary"}


def test_a_call_whose_answer_is_taken_up_is_a_step_of_the_agent() -> None:
    planner = {**TITLE, "system": "You make plans."}
    assert named((planner, "The plan is to read first."), (MAIN, "done")) == {}


def test_a_call_with_tools_or_under_the_same_prompt_is_a_main_one() -> None:
    worker = {"system": "You are a worker.", "tools": TOOLS[:1], "messages": []}
    same = {**TITLE, "system": MAIN["system"]}
    assert named((worker, ""), (same, ""), (MAIN, "")) == {}


def test_a_run_whose_main_calls_have_no_tools_has_one_lane() -> None:
    chat = {"system": "You chat. " * 50, "messages": []}
    assert named((TITLE, "A word is mended"), (chat, "")) == {}
    assert named((MAIN, "done")) == {}
    assert named() == {}


def test_what_cannot_be_read_is_a_main_call() -> None:
    assert named(("not a call", ""), (MAIN, "")) == {}
