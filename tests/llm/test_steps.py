"""Which exchanges are model calls, and their numbers."""

from typing import Any

from rerail.errors import NotOnTape
from rerail.llm.steps import Attempt, steps
from rerail.tape.exchange import Exchange, joined
from rerail.tape.records import (
    Body,
    Event,
    HttpFailed,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    WsMessage,
    WsOpened,
)

CHAT = b"POST /v1/chat/completions HTTP/1.1\r\n\r\n"
MODELS = b"GET /v1/models HTTP/1.1\r\n\r\n"


class Tape:
    """Events in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: type[Event], **fields: Any) -> None:
        self.events.append(kind(seq=len(self.events) + 1, at=0, wall=0, **fields))

    def request(self, number: int, head: bytes = CHAT, body: bytes = b"q") -> None:
        self.add(
            HttpRequest, exchange_id=number, connection_id=1, scheme="https",
            host="api.openai.com", port=443, head=head, body=Body(digest=body, size=len(body)),
        )  # fmt: skip

    def reply(self, number: int, status: int = 200, ended: str = "complete") -> None:
        self.add(HttpReplyHead, exchange_id=number, head=b"HTTP/1.1 %d x\r\n\r\n" % status)
        self.add(HttpReplyBody, exchange_id=number, ended=ended)

    def call(self, number: int, body: bytes = b"q", *, status: int = 200) -> None:
        self.request(number, body=body)
        self.reply(number, status)

    @property
    def exchanges(self) -> list[Exchange]:
        return joined(self.events)

    def numbers(self) -> dict[int, tuple[int, int]]:
        return {
            key: (attempt.step, attempt.attempt) for key, attempt in steps(self.exchanges).items()
        }


def test_model_calls_are_numbered_and_nothing_else_is() -> None:
    tape = Tape()
    tape.call(1, b"a")
    tape.request(2, MODELS)
    tape.reply(2)
    tape.call(3, b"b")
    assert tape.numbers() == {1: (1, 1), 3: (2, 1)}


def test_a_call_says_what_it_asks() -> None:
    tape = Tape()
    tape.call(1)
    [attempt] = steps(tape.exchanges).values()
    assert isinstance(attempt, Attempt)
    assert attempt.call.api == "openai.chat_completions"


def test_the_same_body_after_a_failure_is_another_attempt_at_the_same_step() -> None:
    for status in (408, 409, 425, 429, 500, 503, 529):
        tape = Tape()
        tape.call(1, status=status)
        tape.call(2, status=status)
        tape.call(3)
        tape.call(4, b"next")
        assert tape.numbers() == {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 1)}


def test_no_reply_and_a_cut_reply_are_failures() -> None:
    tape = Tape()
    tape.request(1)
    tape.add(HttpFailed, exchange_id=1, ended="reset")
    tape.request(2)
    tape.reply(2, ended="cut")
    tape.call(3)
    assert tape.numbers() == {1: (1, 1), 2: (1, 2), 3: (1, 3)}


def test_the_same_question_after_an_answer_is_a_new_step() -> None:
    for status in (200, 400, 404):
        tape = Tape()
        tape.call(1, status=status)
        tape.call(2)
        assert tape.numbers() == {1: (1, 1), 2: (2, 1)}


def test_another_body_after_a_failure_is_a_new_step() -> None:
    tape = Tape()
    tape.call(1, b"a", status=500)
    tape.call(2, b"b")
    assert tape.numbers() == {1: (1, 1), 2: (2, 1)}


def test_equal_calls_side_by_side_are_two_steps_even_if_the_first_fails_later() -> None:
    tape = Tape()
    tape.request(1)
    tape.request(2)
    tape.reply(1, 500)
    tape.reply(2)
    assert tape.numbers() == {1: (1, 1), 2: (2, 1)}


def test_one_failure_has_one_retry() -> None:
    tape = Tape()
    tape.call(1, status=500)
    tape.request(2)
    tape.request(3)
    tape.reply(2)
    tape.reply(3)
    assert tape.numbers() == {1: (1, 1), 2: (1, 2), 3: (2, 1)}


def websocket(tape: Tape, number: int, path: bytes) -> None:
    tape.request(number, b"GET %b HTTP/1.1\r\nUpgrade: websocket\r\n\r\n" % path)
    tape.add(HttpReplyHead, exchange_id=number, head=b"HTTP/1.1 101 x\r\n\r\n")
    tape.add(WsOpened, exchange_id=number)


def say(tape: Tape, number: int, message: bytes, sender: str = "agent") -> None:
    tape.add(
        WsMessage, exchange_id=number, sender=sender, opcode="text", content=message,
        size=len(message),
    )  # fmt: skip


GENERATE = b'{"type": "response.create"}'
PREWARM = b'{"type": "response.create", "generate": false}'


def test_a_websocket_session_that_is_not_read_is_one_step() -> None:
    for path in (b"/v1/realtime", b"/v1/responses"):
        tape = Tape()
        websocket(tape, 1, path)
        assert tape.numbers() == {1: (1, 1)}


def test_each_turn_on_a_websocket_is_a_step_and_a_prewarm_is_none() -> None:
    tape = Tape()
    websocket(tape, 1, b"/v1/responses")
    for message in (PREWARM, GENERATE, b"not JSON"):
        say(tape, 1, message)
    say(tape, 1, GENERATE, sender="origin")
    tape.call(2, b"beside it")
    say(tape, 1, GENERATE)
    found = steps(tape.exchanges, lambda digest: digest)
    assert found[1].steps == (1, 3)
    assert [turn.event for turn in found[1].turns] == [5, 11]
    assert found[2].steps == (2,)


def test_a_session_that_was_only_warmed_up_is_no_model_call() -> None:
    tape = Tape()
    websocket(tape, 1, b"/v1/responses")
    say(tape, 1, PREWARM)
    assert steps(tape.exchanges, lambda digest: digest) == {}


def test_a_message_that_cannot_be_read_is_no_turn() -> None:
    def gone(digest: bytes) -> bytes:
        raise NotOnTape("it is gone", hint="")

    tape = Tape()
    websocket(tape, 1, b"/v1/responses")
    say(tape, 1, GENERATE)
    assert steps(tape.exchanges, gone) == {}


def test_a_realtime_session_may_begin_by_itself_so_it_is_one_step() -> None:
    tape = Tape()
    websocket(tape, 1, b"/v1/realtime")
    say(tape, 1, GENERATE)
    assert steps(tape.exchanges, lambda digest: digest)[1].steps == (1,)


def test_a_reply_that_is_whole_though_the_agent_left_is_an_answer() -> None:
    for whole, numbers in ((frozenset({1}), [1, 2]), (frozenset[int](), [1, 1])):
        tape = Tape()
        tape.request(1)
        tape.reply(1, ended="agent_closed")
        tape.call(2)
        found = steps(tape.exchanges, whole=whole)
        assert [attempt.step for attempt in found.values()] == numbers


def test_an_absolute_target_is_a_model_call_too() -> None:
    tape = Tape()
    tape.request(1, b"POST http://h/v1/chat/completions HTTP/1.1\r\n\r\n")
    assert tape.numbers() == {1: (1, 1)}
