"""A WebSocket conversation, played as a dialogue."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from rerail.compare.alike import Likeness
from rerail.compare.match import Matcher
from rerail.compare.volatile import Rules
from rerail.playback.conversation import Conversation, Say
from rerail.playback.script import Script
from rerail.tape.reader import Tape

Maker = Callable[[], Any]

A, B, X = (str(uuid4()) for _ in range(3))


def played(maker: Any, *ignore: str) -> Conversation:
    script = Script(maker.finish())
    (item,) = script.exchanges.values()
    rules = Rules(ignore)
    likeness = Likeness(rules)
    Matcher(script.recorded, rules, likeness)
    return Conversation(
        item.recorded, item.exchange.websocket, script.tape.blob, rules, item.call, likeness
    )


def played_again(maker: Any) -> Conversation:
    script = Script(Tape.open(maker.path))
    (item,) = script.exchanges.values()
    return Conversation(
        item.recorded, item.exchange.websocket, script.tape.blob, Rules(), item.call
    )


def said(says: tuple[Say, ...]) -> list[tuple[str, bytes]]:
    return [(say.kind, say.content()) for say in says]


def test_what_the_origin_says_first_is_said_first(tape_maker: Maker) -> None:
    maker = tape_maker()
    maker.websocket(
        ("origin", "text", b"welcome"),
        ("origin", "ping", b"1"),
        ("agent", "pong", b"1"),
        ("agent", "text", b"hi"),
        ("origin", "binary", b"\x00\x01"),
        ("origin", "close", 4001),
    )
    conversation = played(maker)
    assert said(conversation.begin()) == [("text", b"welcome"), ("ping", b"1")]
    assert conversation.heard("pong", b"1").say == ()
    after = conversation.heard("text", b"hi").say
    assert said(after) == [("binary", b"\x00\x01"), ("close", b"")]
    assert after[1].code == 4001
    assert after[0].at > 0
    assert conversation.unheard == 0


def test_a_ping_is_answered_whatever_was_recorded(tape_maker: Maker) -> None:
    maker = tape_maker()
    maker.websocket(
        ("agent", "ping", b"x"), ("origin", "pong", b"x"), ("agent", "text", b"a"),
        ("origin", "text", b"b"),
    )  # fmt: skip
    conversation = played(maker)
    assert conversation.begin() == ()
    assert said(conversation.heard("ping", b"other").say) == [("pong", b"other")]
    assert said(conversation.heard("text", b"a").say) == [("text", b"b")]


def test_messages_that_go_by_a_timer_hold_up_nothing(tape_maker: Maker) -> None:
    maker = tape_maker()
    ping, pong = b'{"type": "ping"}', b'{"type": "pong", "n": 1}'
    maker.websocket(
        ("agent", "text", b"a"), ("origin", "text", b"b"), ("agent", "text", ping),
        ("origin", "text", pong), ("origin", "text", b"heartbeat"), ("origin", "text", b"c"),
        ("agent", "text", ping), ("agent", "text", b"d"), ("origin", "text", b"e"),
    )  # fmt: skip
    slow, fast = played(maker), played_again(maker)
    for conversation in (slow, fast):
        assert said(conversation.heard("text", b"a").say) == [
            ("text", b"b"), ("text", b"heartbeat"), ("text", b"c"),
        ]  # fmt: skip
    for _ in range(5):
        heard = slow.heard("text", b'{"type": "ping"}')
        assert (said(heard.say), heard.rules) == ([("text", pong)], ("keepalive",))
    for conversation in (slow, fast):
        assert said(conversation.heard("text", b"d").say) == [("text", b"e")]
        assert conversation.unheard == 0


def test_identifiers_and_facts_may_differ_in_messages_too(tape_maker: Maker) -> None:
    maker = tape_maker()
    answer = json.dumps({"echo": A}).encode()
    maker.websocket(
        ("agent", "text", {"session": A}), ("origin", "text", answer),
        ("agent", "text", {"session": A, "n": 2}), ("agent", "text", {"session": A, "n": 3}),
    )  # fmt: skip
    conversation = played(maker)
    first = conversation.heard("text", json.dumps({"session": X}).encode())
    assert first.rules == ("renamed ids",)
    assert said(first.say) == [("text", json.dumps({"echo": X}).encode())]
    other = conversation.heard("text", json.dumps({"session": B, "n": 2}).encode())
    assert other.miss is not None
    assert conversation.heard("text", json.dumps({"session": X, "n": 2}).encode()).rules
    wrong = conversation.heard("text", json.dumps({"session": X, "n": 4}).encode()).miss
    assert wrong is not None
    assert [item.path for item in wrong.differences] == ["n"]


def test_what_the_origin_made_up_is_not_renamed(tape_maker: Maker) -> None:
    maker = tape_maker()
    maker.websocket(
        ("agent", "text", b"{}"), ("origin", "text", f'{{"id": "{A}"}}'.encode()),
        ("agent", "text", {"previous_response_id": A}),
    )  # fmt: skip
    conversation = played(maker)
    conversation.heard("text", b"{}")
    assert conversation.heard("text", f'{{"previous_response_id": "{X}"}}'.encode()).miss


def test_a_close_is_answered_as_recorded_or_in_kind(tape_maker: Maker) -> None:
    maker = tape_maker()
    maker.websocket(("agent", "close", 1000), ("origin", "close", 1000))
    conversation = played(maker)
    assert said(conversation.heard("close", code=1000).say) == [("close", b"")]
    maker = tape_maker()
    maker.websocket(("agent", "text", b"a"))
    conversation = played(maker)
    (say,) = conversation.heard("close", code=1001).say
    assert (say.kind, say.code) == ("close", 1001)
    assert conversation.unheard == 1


def test_a_connection_that_broke_breaks_again(tape_maker: Maker) -> None:
    maker = tape_maker()
    maker.websocket(("agent", "text", b"a"), ("origin", "close", 1006))
    assert said(played(maker).heard("text", b"a").say) == [("drop", b"")]


def test_an_agent_that_went_away_may_go_away(tape_maker: Maker) -> None:
    maker = tape_maker()
    maker.websocket(("agent", "text", b"a"), ("agent", "close", 1006))
    conversation = played(maker)
    conversation.heard("text", b"a")
    assert said(conversation.heard("drop").say) == [("drop", b"")]


def test_another_message_is_different_and_one_more_is_extra(tape_maker: Maker) -> None:
    maker = tape_maker()
    maker.websocket(("agent", "text", {"a": 1, "id": 1}), ("origin", "text", b"ok"))
    conversation = played(maker, "id")
    wrong = conversation.heard("text", b'{"a": 2, "id": 1}').miss
    assert wrong is not None
    assert (wrong.kind, wrong.field) == ("different", "a")
    kind = conversation.heard("binary", b'{"a": 1, "id": 1}').miss
    assert kind is not None
    right = conversation.heard("text", b'{"a": 1, "id": 2}')
    assert (right.miss, right.rules) == (None, ("ignored id",))
    assert said(right.say) == [("text", b"ok")]
    extra = conversation.heard("text", b"more").miss
    assert extra is not None
    assert extra.kind == "extra"


def test_turns_are_counted_without_the_warm_up(tape_maker: Maker) -> None:
    maker = tape_maker()
    warm_up = {"type": "response.create", "generate": False}
    turn = {"type": "response.create", "input": []}
    maker.websocket(("agent", "text", warm_up), ("agent", "text", turn), ("agent", "text", turn))
    conversation = played(maker)
    assert conversation.turns == 2
    conversation.heard("text", b'{"type": "response.create", "generate": false}')
    conversation.heard("text", b'{"type": "response.create", "input": []}')
    assert (conversation.turns_heard, conversation.unheard) == (1, 1)
