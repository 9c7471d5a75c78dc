"""Replies to model calls that were under way side by side wait for what came before them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rerail.playback import order as order_module
from rerail.playback.ledger import Ledger
from rerail.playback.order import Order
from rerail.playback.script import Script


@pytest.fixture
def made(tape_maker: Callable[[], Any]) -> Any:
    """A tape on which r1 and r2 were side by side: r2 was answered, asked on as r3, then r1."""
    maker = tape_maker()
    for number in (1, 2):
        maker.request({"n": number})
    maker.reply(exchange=2)
    maker.request({"n": 3})
    maker.reply(exchange=1)
    maker.reply(exchange=3)
    maker.call({"n": 4})
    maker.request({"n": 5}, process_id=2)
    return maker


def in_a_loop(made: Any, play: Callable[[Order, Ledger, Script], Awaitable[None]]) -> None:
    async def run() -> None:
        script, ledger = Script(made.finish()), Ledger()
        await play(Order(script, ledger), ledger, script)

    asyncio.run(run())


def ended(script: Script, number: int) -> int:
    reply = script.exchanges[number].exchange.reply_body
    assert reply is not None
    return reply.at


def test_a_reply_waits_for_what_came_before_it(made: Any) -> None:
    async def play(order: Order, ledger: Ledger, script: Script) -> None:
        given = asyncio.Event()
        at = ended(script, 1)
        for number in (1, 2):
            order.happened(number, "request")
        assert not order.holds(2, ended(script, 2), given.set)
        assert order.holds(1, at, given.set)
        order.happened(2, "head", "end")
        await given.wait()
        given.clear()
        assert order.holds(1, at, given.set), "r3 has not come yet"
        order.happened(3, "request")
        await given.wait()
        assert not order.holds(1, at, given.set)
        assert not ledger.notes

    in_a_loop(made, play)


def test_who_was_alone_waits_for_nobody(made: Any) -> None:
    async def play(order: Order, ledger: Ledger, script: Script) -> None:
        assert not order.holds(4, ended(script, 4), lambda: None)
        assert not order.holds(5, script.last_at, lambda: None)

    in_a_loop(made, play)


def test_what_does_not_come_is_waited_for_once_and_said(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_module, "PATIENCE_SECONDS", 0.001)

    async def play(order: Order, ledger: Ledger, script: Script) -> None:
        given = asyncio.Event()
        order.happened(1, "request")
        assert order.holds(1, ended(script, 1), given.set)
        await given.wait()
        assert not order.holds(1, ended(script, 1), given.set)
        (said,) = ledger.notes
        assert "another order than the recorded one" in said

    in_a_loop(made, play)


def test_a_run_that_goes_on_live_waits_for_nothing(made: Any) -> None:
    async def play(order: Order, ledger: Ledger, script: Script) -> None:
        given = asyncio.Event()
        assert order.holds(1, ended(script, 1), given.set)
        order.went_live()
        await given.wait()
        assert not order.holds(1, ended(script, 1), given.set)

    in_a_loop(made, play)


def test_a_crowd_waits_for_nobody(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_module, "LARGEST", 2)

    async def play(order: Order, ledger: Ledger, script: Script) -> None:
        assert not order.holds(1, ended(script, 1), pytest.fail)
        order.missed(1)
        assert ledger.notes

    in_a_loop(made, play)
