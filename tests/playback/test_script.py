"""The tape as a player needs it."""

from collections.abc import Callable
from typing import Any

from rerail.playback.script import Script


def test_requests_are_read_with_what_they_are(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    maker.call({"b": 2}, target="/search?q=1", host="tools.example", process_id=3)
    maker.call({"c": 3}, target="/v1/traces/ingest")
    script = Script(maker.finish())
    first, second, third = script.exchanges.values()
    assert first.step is not None
    assert (first.step.step, first.step.call.api) == (1, "openai.chat_completions")
    assert first.recorded.load() == b'{"a": 1}'
    assert (second.step, second.side) == (None, None)
    assert second.recorded.request.process_id == 3
    assert second.recorded.request.target == "/search?q=1"
    assert third.side is not None
    assert third.side.name == "openai-agents traces"
    assert script.call_count == 1
    assert script.model_hosts() == {("api.openai.com", 443)}
    assert first.event == first.recorded.started < first.recorded.ended < second.event


def test_a_retry_is_another_attempt_at_the_same_call(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.call({"a": 1}, status=429)
    maker.call({"a": 1})
    maker.call({"a": 1})
    script = Script(maker.finish())
    steps = [item.step for item in script.exchanges.values()]
    assert [(step.step, step.attempt) for step in steps if step] == [(1, 1), (1, 2), (2, 1)]
    assert script.call_count == 2


def test_a_reply_to_half_a_request_belongs_to_its_head(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    number = maker.request(unfinished=True)
    maker.reply(head=b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n")
    maker.request_body(number, b"half", "agent_closed")
    early = Script(maker.finish()).exchanges[number]
    assert early.early
    assert early.recorded.load() == b"half"


def test_a_reply_that_came_first_to_a_whole_request_is_matched_by_its_body(
    tape_maker: Callable[[], Any],
) -> None:
    maker = tape_maker()
    number = maker.request(unfinished=True)
    maker.reply()
    maker.request_body(number, {"a": 1})
    item = Script(maker.finish()).exchanges[number]
    assert not item.early
    assert item.recorded.request.body_size == 8


def test_an_exchange_without_an_end_overlaps_all_that_follow(
    tape_maker: Callable[[], Any],
) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    script = Script(maker.leave())
    (item,) = script.exchanges.values()
    assert item.recorded.ended > 1 << 60
    assert item.recorded.request.body_digest


def test_failed_connections_are_kept_in_order(tape_maker: Callable[[], Any]) -> None:
    maker = tape_maker()
    maker.unreachable("a.example")
    maker.unreachable("b.example")
    script = Script(maker.finish())
    assert [failure.host for failure in script.failures] == ["a.example", "b.example"]
    assert script.exchanges == {}


def test_a_reply_whose_agent_left_after_the_last_event_is_given_its_end(
    tape_maker: Callable[[], Any],
) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for last, ended, end in (
        (b"data: [DONE]\n\n", "complete", b"data: [DONE]\n\n\r\n0\r\n\r\n"),
        (b"data: {}\n\n", "agent_closed", b"data: {}\n\n\r\n"),
    ):
        maker = tape_maker()
        number = maker.request({"stream": True})
        maker.reply([last], head=head, framing="chunked", ended="agent_closed")
        plan = Script(maker.finish()).plan(number)
        assert plan.ended == ended
        assert b"".join(piece.data for piece in plan.pieces()).endswith(end)
