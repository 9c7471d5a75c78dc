"""A WebSocket conversation, played as a dialogue."""

from collections.abc import Callable
from typing import Any

from rerail.compare.volatile import Rules
from rerail.playback.conversation import Conversation, Say
from rerail.playback.script import Script

Maker = Callable[[], Any]


def played(maker: Any, *ignore: str) -> Conversation:
    script = Script(maker.finish())
    (item,) = script.exchanges.values()
    call = item.step.call if item.step else None
    return Conversation(
        item.recorded, item.exchange.websocket, script.tape.blob, Rules(ignore), call
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
