"""What each request of a replay gets."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rerail.playback.answers import Continue, GoLive, Refused, Served, Stubbed
from rerail.playback.onward import CannotGoOn, Edited
from rerail.playback.player import CONTINUE, Player
from rerail.wire.http1 import ReplyScanner

Maker = Callable[[], Any]
Ask = Callable[..., Any]


def test_a_recorded_request_is_served_what_was_recorded(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply([b"[]"])
    player = Player(maker.finish())
    served = player.answer(ask({"a": 1}))
    assert isinstance(served, Served)
    assert (served.request, served.step, served.followed) == (1, 1, False)
    assert b"".join(piece.data for piece in served.plan.pieces()).endswith(b"\r\n\r\n[]")
    assert player.unused() == []


def test_a_request_that_is_not_on_the_tape_is_refused_in_the_providers_form(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    for turn in range(5):
        maker.call({"messages": [f"message {number}" for number in range(turn + 1)]})
        maker.call(b"", target=f"/tool/{turn}", host="tools.example", method="GET")
    player = Player(maker.finish())
    for turn in range(2):
        player.answer(ask({"messages": [f"message {number}" for number in range(turn + 1)]}))
        player.answer(ask(target=f"/tool/{turn}", host="tools.example", method="GET"))
    refused = player.answer(ask({"messages": ["message 0", "message 1", "message two"]}))
    assert isinstance(refused, Refused)
    divergence = refused.divergence
    assert (divergence.request, divergence.step, divergence.kind) == (5, 3, "different")
    assert divergence.field == "messages[2]"
    assert [(word.recorded, word.now) for word in divergence.differences[0].words] == [("2", "two")]
    assert divergence.nearest is not None
    assert (divergence.nearest.exchange, divergence.nearest.step) == (5, 3)
    body = json.loads(refused.reply.partition(b"\r\n\r\n")[2])
    assert body["error"]["message"] == (
        "rerail refused this request: it is not on the tape that is being replayed. "
        "messages[2] differs from the nearest recorded request, r5"
    )
    scanner = ReplyScanner()
    scanner.expect(b"POST")
    scanner.feed(refused.reply)
    assert scanner.between_messages


def test_after_a_refusal_what_is_on_the_tape_is_still_served(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    maker.call({"a": 2})
    player = Player(maker.finish())
    assert isinstance(player.answer(ask({"a": 3})), Refused)
    assert isinstance(player.answer(ask({"a": 1})), Served)
    assert isinstance(player.answer(ask({"a": 2})), Served)
    assert isinstance(player.answer(ask({"a": 2})), Refused)
    assert [item.kind for item in player.ledger.divergences] == ["different", "used_up"]
    assert player.ledger.numbers("refused") == [1, 4]


def test_attempts_of_one_call_are_one_step(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1}, status=429)
    maker.call({"a": 1})
    maker.call({"a": 2})
    player = Player(maker.finish())
    answers = [player.answer(ask({"a": number})) for number in (1, 1, 2)]
    assert [answer.step for answer in answers if isinstance(answer, Served)] == [1, 1, 2]
    assert [answer.plan.status for answer in answers if isinstance(answer, Served)] == [
        429, 200, 200,
    ]  # fmt: skip


def test_a_refused_call_asked_again_is_one_step(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    for body in ({"b": 1}, {"b": 1}, {"b": 2}):
        player.answer(ask(body))
    assert [item.step for item in player.ledger.divergences] == [1, 1, 2]


def test_follow_serves_the_nearest_of_the_same_endpoint(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": "one"})
    maker.call({"a": "two"})
    player = Player(maker.finish(), on_divergence="follow")
    served = player.answer(ask({"a": "another"}))
    assert isinstance(served, Served)
    assert (served.followed, served.match, served.plan.exchange_id) == (True, None, 1)
    again = player.answer(ask({"a": "two"}))
    assert isinstance(again, Served)
    assert not again.followed
    beyond = player.answer(ask({"a": "two"}))
    assert isinstance(beyond, Served)
    assert beyond.followed
    elsewhere = player.answer(ask(target="/elsewhere"))
    assert isinstance(elsewhere, Refused)
    assert player.ledger.numbers("followed") == [1, 3]


def test_live_is_for_model_calls_to_recorded_model_hosts_alone(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    maker.call(b"", target="/orders", host="shop.example")
    player = Player(maker.finish(), on_divergence="live")
    assert isinstance(player.answer(ask({"a": 2})), GoLive)
    assert isinstance(player.answer(ask({"a": 2}, target="/v1/responses")), GoLive)
    assert isinstance(player.answer(ask({"a": 2}, host="api.groq.com")), Refused)
    assert isinstance(player.answer(ask({"a": 2}, target="/v1/files")), Refused)
    assert isinstance(player.answer(ask({"a": 2}, target="/orders", host="shop.example")), Refused)
    assert player.ledger.numbers("live") == [1, 2]


def test_side_calls_are_answered_by_endpoint_and_counted_apart(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"span": 1}, target="/v1/traces/ingest")
    player = Player(maker.finish())
    for number in range(2):
        served = player.answer(ask({"span": number + 7}, target="/v1/traces/ingest"))
        assert isinstance(served, Served)
        assert served.plan.exchange_id == 1
    assert player.ledger.matched == set()
    assert player.ledger.numbers("side call") == [1, 2]


def test_a_side_call_that_was_never_recorded_gets_a_stub_and_is_no_divergence(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    stubbed = player.answer(ask({"span": 1}, target="/v1/traces/ingest"))
    assert isinstance(stubbed, Stubbed)
    assert stubbed.reply.startswith(b"HTTP/1.1 204 ")
    listed = player.answer(ask(method="GET", target="/v1/models"))
    assert isinstance(listed, Stubbed)
    assert listed.reply.startswith(b"HTTP/1.1 404 "), "a list is not made up"
    assert player.ledger.divergences == []
    assert player.ledger.numbers("side call") == [1, 2]


def test_sessions_that_are_opened_alike_are_told_by_their_first_message(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    for name in ("one", "two", "three"):
        maker.websocket(
            ("agent", "text", name.encode()), ("origin", "text", b"you are " + name.encode())
        )
    player = Player(maker.finish())
    upgrade = ask(method="GET", target="/v1/responses", headers=[("upgrade", "websocket")])
    sessions = [player.answer(upgrade) for _ in range(2)]
    for served in sessions:
        assert isinstance(served, Served)
        assert player.begin(served) == ()
    first, second = sessions
    for served, name in ((first, b"three"), (second, b"one")):
        assert isinstance(served, Served)
        heard = player.heard(served, "text", name)
        assert [say.content() for say in heard.say] == [b"you are " + name]
    assert [item.exchange.exchange_id for item in player.unused()] == [2]
    assert player.ledger.matched == {1, 3}
    third = player.answer(upgrade)
    assert isinstance(third, Served)
    player.begin(third)
    assert player.heard(third, "text", b"four").miss is not None


class _From:
    """A rewind to a step, which says what it was asked."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.taken: list[int] = []
        self.before: list[tuple[str, bytes]] = []

    @property
    def begun(self) -> bool:
        return bool(self.taken)

    def leaves(self, step: int) -> bool:
        return step >= self.step or self.begun

    def take_turn(self, turn: int, call: Any, request: Any) -> None:
        if not request.body:
            raise CannotGoOn("not on the tape", code="websocket")
        self.taken.append(turn)

    def edit_message(self, call: Any, message: bytes, before: Any) -> Edited:
        self.before = list(before)
        return Edited(b"whole", b"whole", "whole")

    def edit_further(self, call: Any, message: bytes) -> None:
        return None


def test_a_session_goes_on_live_at_one_of_its_messages(tape_maker: Maker, ask: Ask) -> None:
    turns = [json.dumps({"type": "response.create", "n": n}).encode() for n in range(4)]
    maker = tape_maker()
    maker.websocket(
        ("agent", "text", turns[0]), ("origin", "text", b"zero"), ("agent", "text", turns[1])
    )
    onward = _From(2)
    player = Player(maker.finish(), onward=onward)  # type: ignore[arg-type]
    upgrade = ask(method="GET", target="/v1/responses", headers=[("upgrade", "websocket")])
    served = player.answer(upgrade)
    assert isinstance(served, Served)
    player.begin(served)
    assert [say.content() for say in player.heard(served, "text", turns[0]).say] == [b"zero"]
    heard = player.heard(served, "text", turns[1])
    assert (heard.goes_live, heard.say) == (True, ())
    edited = player.live_message(served, turns[1], heard.turn)
    assert edited is not None
    assert edited.body == b"whole"
    assert onward.before == [("agent", turns[0]), ("origin", b"zero")]
    assert player.live_message(served, turns[2]) is None
    assert onward.taken == [2, 3]
    assert not player.ledger.divergences


def test_once_a_run_is_live_a_turn_of_any_session_is(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.websocket(("agent", "text", b'{"type":"response.create","n":1}'))
    onward = _From(1)
    player = Player(maker.finish(), onward=onward)  # type: ignore[arg-type]
    onward.taken.append(1)
    upgrade = ask(method="GET", target="/v1/responses", headers=[("upgrade", "websocket")])
    served = player.answer(upgrade)
    assert isinstance(served, Served)
    player.begin(served)
    assert player.heard(served, "text", b'{"type":"response.create","n":7}').goes_live
    assert isinstance(player.answer(upgrade), Refused)


def test_what_is_noted_is_kept_for_the_report(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    maker.call({"a": 2})
    player = Player(maker.finish())
    player.answer(ask(b'{"a":2}'))
    assert [(note.exchange, note.before) for note in player.ledger.out_of_order] == [(2, 1)]
    assert player.ledger.rules == {"json spelling": 1}
    assert player.ledger.numbers("equivalent") == [1]


EXPECT = "Expect: 100-continue\r\n"
EXPECTED = (("Expect", "100-continue"),)


def test_a_client_that_waits_is_asked_for_its_body_where_the_origin_asked(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    maker.request({"a": 1}, headers=EXPECT)
    maker.reply(interim=[b"HTTP/1.1 100 Go on\r\n\r\n"])
    player = Player(maker.finish())
    told = player.before_body(ask(headers=EXPECTED))
    assert told == Continue(b"HTTP/1.1 100 Go on\r\n\r\n")
    assert isinstance(player.answer(ask({"a": 1}, headers=EXPECTED)), Served)


def test_a_client_that_waits_is_answered_where_the_origin_answered(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    maker.request(headers=EXPECT)
    maker.reply(head=b"HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\n")
    player = Player(maker.finish())
    served = player.before_body(ask(headers=EXPECTED))
    assert isinstance(served, Served)
    assert served.plan.status == 417
    assert player.unused() == []


def test_a_client_that_waits_is_left_waiting_where_the_origin_said_nothing(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    maker.request({"a": 1}, headers=EXPECT)
    maker.reply()
    player = Player(maker.finish())
    assert player.before_body(ask(headers=EXPECTED)) is None
    assert player.before_body(ask(headers=[])) is None
    assert player.ledger.requests == 0


def test_a_client_that_waits_with_an_unknown_request_is_asked_for_its_body(
    tape_maker: Maker, ask: Ask
) -> None:
    player = Player(tape_maker().finish())
    assert player.before_body(ask(headers=EXPECTED)) == Continue(CONTINUE)
    assert player.before_body(ask(headers=[])) is None


def test_an_early_reply_is_given_early(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    number = maker.request(unfinished=True)
    maker.reply(head=b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n")
    maker.request_body(number, b"half", "agent_closed")
    player = Player(maker.finish())
    served = player.before_body(ask())
    assert isinstance(served, Served)
    assert served.plan.status == 413


def test_a_recorded_failure_to_connect_is_met_again_in_its_place(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    maker.unreachable()
    maker.call({"a": 1})
    maker.unreachable()
    maker.call({"a": 2})
    player = Player(maker.finish())
    host = ("api.openai.com", 443)
    assert player.connecting(*host) is not None
    assert player.connecting(*host) is None
    player.answer(ask({"a": 1}))
    assert player.connecting(*host) is not None
    assert player.connecting(*host) is None
    player.answer(ask({"a": 2}))
    assert player.connecting(*host) is None
    assert player.connecting("elsewhere.example", 443) is None


def test_an_origin_that_was_never_reached_fails_as_often_as_it_is_tried(
    tape_maker: Maker,
) -> None:
    maker = tape_maker()
    maker.unreachable("dead.example")
    maker.unreachable("dead.example")
    player = Player(maker.finish())
    assert all(player.connecting("dead.example", 443) for _ in range(4))
    assert player.ledger.notes == {
        "more connections to dead.example:443 failed than in the recording": 2
    }


def test_a_websocket_is_played_and_its_turns_are_matched(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.websocket(
        ("agent", "text", {"type": "response.create", "input": [1]}),
        ("origin", "text", b"hello"),
        ("agent", "text", {"type": "response.create", "input": [2]}),
        ("origin", "text", b"bye"),
    )
    player = Player(maker.finish())
    upgrade = ask(
        method="GET",
        target="/v1/responses",
        headers=[("upgrade", "websocket"), ("sec-websocket-key", "other")],
    )
    served = player.answer(upgrade)
    assert isinstance(served, Served)
    assert player.begin(served) == ()
    first = player.heard(served, "text", b'{"input": [1], "type": "response.create"}')
    assert [say.content() for say in first.say] == [b"hello"]
    assert player.ledger.rules == {"json spelling": 1}
    second = player.heard(served, "text", b'{"input": [3], "type": "response.create"}')
    (close,) = second.say
    assert (close.kind, close.code) == ("close", 1008)
    assert close.reason.startswith("rerail: input[0] differs")
    (divergence,) = player.ledger.divergences
    assert (divergence.request, divergence.message, divergence.field) == (1, 2, "input[0]")
    assert player.ledger.numbers("refused") == [1]


def test_reading_ahead_is_done_bit_by_bit(tape_maker: Maker) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    player = Player(maker.finish())
    assert player.read_ahead()
    assert not player.read_ahead()


@pytest.mark.parametrize("accept", ["*/*", "application/json"])
def test_a_refusal_to_any_other_client_is_in_a_form_it_reads(
    tape_maker: Maker, ask: Ask, accept: str
) -> None:
    player = Player(tape_maker().finish())
    refused = player.answer(ask(method="GET", target="/x", headers=[("accept", accept)]))
    assert isinstance(refused, Refused)
    assert (b"application/json" in refused.reply) == (accept == "application/json")
