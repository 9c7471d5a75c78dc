from collections import Counter

from rerail.formats.making import Teller
from rerail.formats.spans import Span, new_ones, tell
from rerail.llm.view import Message, Other, Text, ToolCall, ToolCallResponse
from rerail.trace.story import Said

ASKED = Message("user", (Text("Go."),))


def called(call_id: str, path: str = ".") -> ToolCall:
    return ToolCall(call_id, "ls", {"path": path})


def wants(*calls: ToolCall) -> Message:
    return Message("assistant", calls)


def answered(call_id: str, words: str = "a") -> Message:
    return Message("tool", (ToolCallResponse(call_id, words),))


def ran(start: int, call: ToolCall, *, failed: bool = False, own_id: bool = True) -> Span:
    told = ToolCallResponse(call.call_id, "broken" if failed else "a", is_error=failed)
    return Span(start, start + 1, call=call, told=told, own_id=own_id)


def said(*spans: Span) -> list[Said]:
    teller = Teller("x")
    tell(teller, spans)
    return teller.said


def test_each_message_is_said_once_though_every_call_repeats_it() -> None:
    first = Span(1, 2, asked=(ASKED,), answered=(wants(called("k")),))
    second = Span(
        5, 6, asked=(ASKED, wants(called("k")), answered("k")), answered=(wants(called("l")),)
    )
    assert [one.message.role for one in said(second, first)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_a_tool_that_no_model_called_is_said_by_its_span() -> None:
    assert [one.message.role for one in said(ran(1, called("s1")))] == ["assistant", "tool"]


def test_a_failure_that_only_the_span_knows_marks_what_the_model_was_told() -> None:
    first = Span(1, 2, asked=(ASKED,), answered=(wants(called("k")),))
    last = Span(9, 10, asked=(ASKED, wants(called("k")), answered("k")))
    found = said(first, ran(3, called("s1"), failed=True), last)
    assert [one.message.role for one in found] == ["user", "assistant", "tool", "assistant"]
    assert found[2].message.parts == (ToolCallResponse("k", "a", is_error=True),)


def test_an_answer_that_no_model_was_told_comes_from_the_span() -> None:
    first = Span(1, 2, asked=(ASKED,), answered=(wants(called("k")),))
    found = said(first, ran(3, called("s1")))
    assert found[2].message.parts == (ToolCallResponse("k", "a"),)


def test_two_calls_of_one_tool_are_told_apart_by_their_arguments() -> None:
    first = Span(1, 2, asked=(ASKED,), answered=(wants(called("k"), called("l", "/")),))
    found = said(first, ran(3, called("s1", "/"), failed=True), ran(4, called("s2")))
    assert [one.message.parts[0] for one in found[2:]] == [
        ToolCallResponse("l", "broken", is_error=True),
        ToolCallResponse("k", "a"),
    ]


def test_a_tool_with_another_id_of_the_model_is_another_call() -> None:
    first = Span(1, 2, asked=(ASKED,), answered=(wants(called("k")),))
    assert len(said(first, ran(3, called("other"), own_id=False))) == 4


def test_a_call_whose_words_are_not_there_is_told_as_such() -> None:
    (one,) = said(Span(1, 2, silent=True))
    assert one.message.parts == (Other("words that were not kept"),)


def test_a_repeated_call_without_its_words_is_the_same_call() -> None:
    whole = Message("assistant", (Text("I look."), called("k")))
    first = Span(1, 2, asked=(ASKED,), answered=(whole,))
    last = Span(5, 6, asked=(ASKED, wants(called("k")), answered("k")), answered=(ASKED,))
    assert [one.message.role for one in said(first, last)] == ["user", "assistant", "tool", "user"]


def test_equal_messages_are_as_many_as_were_asked_at_once() -> None:
    counted: Counter[str] = Counter()
    assert len(new_ones([ASKED, ASKED], counted)) == 2
    assert new_ones([ASKED], counted) == []
