"""Edits of live requests: made at their place in each, in one conversation, in their order."""

import json
from typing import Any

import pytest

from rerail.errors import UsageProblem
from rerail.rewind.edits import AT_MOST, Answering, Edits, NotEditable, Patching
from rerail.tape.records import Edit

CHAT = "openai.chat_completions"
RESPONSES = "openai.responses"
USER = {"role": "user", "content": "Go."}
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look"}}]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "old"}
LATER = {"role": "assistant", "content": "I see."}


def edits(*made: tuple[int, Any, str]) -> Edits:
    return Edits.of([Edit(step=step, kind=kind, text=text) for step, kind, text in made])


def changed(asked: Edits, *messages: Any, step: int = 9, **more: Any) -> dict[str, Any]:
    body = json.dumps({"model": "m", "messages": messages, **more}).encode()
    document: dict[str, Any] = json.loads(asked.change(CHAT, body, step)[0])
    return document


def test_an_answer_is_changed_in_this_and_each_later_request() -> None:
    asked = edits((1, "answer", '{"look": "new"}'))
    for later in ([], [LATER], [LATER, USER]):
        found = changed(asked, USER, CALL, TOLD, *later)
        assert found["messages"] == [USER, CALL, {**TOLD, "content": "new"}, *later]


def test_an_answer_that_was_cut_off_is_no_harm_later() -> None:
    asked = edits((1, "answer", '{"c1": "new"}'))
    changed(asked, USER, CALL, TOLD)
    assert changed(asked, USER)["messages"] == [USER]


def test_a_tool_that_has_not_answered_cannot_answer_otherwise() -> None:
    with pytest.raises(NotEditable, match="no result of `wash`; there are results of look"):
        changed(edits((1, "answer", '{"wash": ""}')), USER, CALL, TOLD)


def test_a_patch_is_applied_to_each_request() -> None:
    asked = edits((1, "patch", '[{"op": "replace", "path": "/model", "value": "better"}]'))
    assert changed(asked, USER)["model"] == "better"
    assert changed(asked, USER, LATER)["model"] == "better"


def test_the_end_of_a_list_is_where_it_was_at_first() -> None:
    note = {"role": "user", "content": "Note."}
    patch = json.dumps([{"op": "add", "path": "/messages/-", "value": note}])
    asked = edits((1, "patch", patch))
    assert changed(asked, USER)["messages"] == [USER, note]
    assert changed(asked, USER, LATER)["messages"] == [USER, note, LATER]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/model", "value": "other"},
        {"op": "remove", "path": "/nothing"},
        {"op": "add", "path": "/no/where/-", "value": 1},
    ],
)
def test_a_patch_that_does_not_fit_says_where(operation: dict[str, Any]) -> None:
    with pytest.raises(NotEditable, match="the patch does not fit the request"):
        changed(edits((1, "patch", json.dumps([operation]))), USER)


def test_edits_are_made_in_order_each_from_its_step_on() -> None:
    asked = edits((1, "hint", "First."), (3, "hint", "Second."))
    one, two = ({"role": "user", "content": text} for text in ("First.", "Second."))
    assert changed(asked, USER, step=1)["messages"] == [USER, one]
    assert changed(asked, USER, LATER, step=2)["messages"] == [USER, one, LATER]
    assert changed(asked, USER, LATER, LATER, step=3)["messages"] == [USER, one, LATER, LATER, two]
    again = changed(asked, USER, LATER, LATER, USER, step=4)["messages"]
    assert again == [USER, one, LATER, LATER, two, USER]


def test_another_conversation_is_left_alone() -> None:
    asked = edits((1, "hint", "First."))
    changed(asked, USER)
    tools = [{"type": "function", "function": {"name": "look"}}]
    assert changed(asked, USER, tools=tools)["messages"] == [USER]
    assert asked.change(CHAT, b'{"model": "small", "messages": []}', 9)[1] == ""


def test_a_conversation_goes_on_with_other_tools_or_another_model() -> None:
    asked = edits((1, "hint", "First."))
    hint = {"role": "user", "content": "First."}
    changed(asked, USER, LATER, USER)
    tools = [{"type": "function", "function": {"name": "look"}}]
    grown = [USER, LATER, USER, LATER]
    assert changed(asked, *grown, tools=tools)["messages"] == [USER, LATER, USER, hint, LATER]
    assert changed(asked, *grown, model="n")["messages"] == [USER, LATER, USER, hint, LATER]
    assert changed(asked, LATER, *grown, model="n")["messages"] == [LATER, *grown]


def test_where_the_provider_keeps_the_history_an_edit_is_made_once() -> None:
    asked = edits((1, "hint", "First."), (2, "patch", '[{"op": "add", "path": "/x", "value": 1}]'))
    told = {"type": "function_call_output", "call_id": "c1", "output": "old"}

    def sent(step: int) -> dict[str, Any]:
        body = {"model": "m", "input": [told], "previous_response_id": "resp_1"}
        found: dict[str, Any] = json.loads(
            asked.change(RESPONSES, json.dumps(body).encode(), step)[0]
        )
        return found

    assert [len(sent(step)["input"]) for step in (1, 1)] == [2, 1]
    assert ["x" in sent(step) for step in (2, 2)] == [True, False]


def test_nothing_to_edit_changes_nothing() -> None:
    assert Edits.of([]).change(CHAT, b"anything", 1) == (b"anything", "")
    with pytest.raises(NotEditable, match="cannot be read"):
        edits((1, "hint", "First.")).change(CHAT, b"anything", 1)


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '"x"'])
def test_what_is_no_answer(text: str) -> None:
    with pytest.raises(UsageProblem, match="the answer"):
        Answering.parse(text)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '[{"op": "wash", "path": "/"}]', '[{"path": "/x"}]', '[{"op": "add"}]'],
)
def test_what_is_no_patch(text: str) -> None:
    with pytest.raises(UsageProblem, match="no JSON patch") as raised:
        Patching.parse(text)
    assert raised.value.hint is not None


@pytest.mark.parametrize("value", ["1e999", "NaN", '"\\ud800"', '{"a": [-1e999]}'])
@pytest.mark.parametrize("kind", ["answer", "patch"])
def test_what_json_cannot_carry_is_refused_before_it_is_sent(kind: str, value: str) -> None:
    patch = f'[{{"op": "replace", "path": "/temperature", "value": {value}}}]'
    with pytest.raises(UsageProblem, match="JSON cannot carry"):
        edits((1, kind, patch if kind == "patch" else f'{{"look": {value}}}'))


@pytest.mark.parametrize("value", ["5", "[]", "null"])
def test_a_patch_that_leaves_no_request_is_refused(value: str) -> None:
    asked = edits((1, "patch", f'[{{"op": "replace", "path": "", "value": {value}}}]'))
    with pytest.raises(NotEditable, match="something else than an object"):
        changed(asked, USER)


def test_an_edit_has_a_bound_and_is_unicode() -> None:
    edits((1, "hint", "x" * AT_MOST))
    with pytest.raises(UsageProblem, match="the hint is longer than"):
        edits((1, "hint", "x" * AT_MOST + "x"))
    with pytest.raises(UsageProblem, match="no Unicode"):
        edits((1, "hint", "\udcff"))
