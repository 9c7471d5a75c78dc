"""An agent that has to wait gets everything, in order, as soon as it may."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from rerail.proxy import held
from rerail.proxy.handler import Tap
from rerail.proxy.held import HeldWire


class Noted:
    """A wire that writes down what is done to it, and a tap that gives leave when it is told to."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.holds = True
        self.then: Callable[[], None] = bool
        self.anyway = 0

    def may_answer(self, connection_id: int, then: Callable[[], None]) -> bool:
        self.then = then
        return not self.holds

    def answer_anyway(self, connection_id: int) -> None:
        self.anyway += 1
        self.holds = False

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def write_end(self) -> None:
        self.done.append("end")

    def close(self) -> None:
        self.done.append("close")

    def cut(self) -> None:
        self.done.append("cut")

    def reset(self) -> None:
        self.done.append("reset")

    def read_on(self, ready: bool) -> None:
        self.done.append(ready)


def run(script: Callable[[Noted, HeldWire], Any]) -> Noted:
    """Run a script in a loop with a wire."""
    noted = Noted()

    async def main() -> None:
        await script(
            noted, HeldWire(noted, cast(Tap, noted), 7, let_go=lambda: noted.read_on(True))
        )

    asyncio.run(main())
    return noted


def test_nothing_waits_that_is_not_held() -> None:
    async def script(noted: Noted, wire: HeldWire) -> None:
        noted.holds = False
        wire.ask_leave()
        wire.write(b"a")
        wire.close()
        assert not wire.holding

    assert run(script).done == [b"a", "close"]


@pytest.mark.parametrize("ending", ["write_end", "close", "cut", "reset"])
def test_what_is_held_goes_on_in_order(ending: str) -> None:
    async def script(noted: Noted, wire: HeldWire) -> None:
        wire.ask_leave()
        wire.write(b"a")
        wire.write(b"bc")
        getattr(wire, ending)()
        assert (noted.done, wire.held) == ([], 3)
        thread = threading.Thread(target=noted.then)
        thread.start()
        thread.join()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        wire.write(b"d")
        assert (wire.holding, wire.held) == (False, 0)

    name = ending.removeprefix("write_")
    assert run(script).done == [b"a", b"bc", name, True, b"d"]


def test_leave_that_comes_while_it_is_asked_is_not_lost() -> None:
    async def script(noted: Noted, wire: HeldWire) -> None:
        def may_answer(_: int, then: Callable[[], None]) -> bool:
            then()
            return False

        noted.may_answer = may_answer  # type: ignore[method-assign]
        wire.ask_leave()
        wire.write(b"a")
        await asyncio.sleep(0)
        assert not wire.holding

    assert run(script).done == [b"a", True]


def test_nothing_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "HELD_SECONDS", 0.001)

    async def script(noted: Noted, wire: HeldWire) -> None:
        wire.ask_leave()
        wire.write(b"a")
        while wire.holding:
            await asyncio.sleep(0.001)

    noted = run(script)
    assert (noted.done, noted.anyway) == ([b"a", True], 1)


def test_reading_from_the_agent_does_not_wait() -> None:
    async def script(noted: Noted, wire: HeldWire) -> None:
        wire.ask_leave()
        wire.read_on(False)

    assert run(script).done == [False]
