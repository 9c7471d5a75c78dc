"""An agent that has to wait gets everything, in order, as soon as it may."""

import pytest

from rerail.proxy.held import HeldWire


class Noted:
    """A wire that writes down what is done to it."""

    def __init__(self) -> None:
        self.done: list[object] = []

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


def test_nothing_waits_that_is_not_held() -> None:
    noted = Noted()
    wire = HeldWire(noted)
    wire.write(b"a")
    wire.close()
    assert noted.done == [b"a", "close"]


@pytest.mark.parametrize("ending", ["write_end", "close", "cut", "reset"])
def test_what_is_held_goes_on_in_order(ending: str) -> None:
    noted = Noted()
    wire = HeldWire(noted)
    wire.hold()
    wire.write(b"a")
    wire.write(b"bc")
    getattr(wire, ending)()
    assert noted.done == []
    assert wire.held == 3
    wire.let_go()
    wire.write(b"d")
    assert noted.done == [b"a", b"bc", ending.removeprefix("write_"), b"d"]
    assert wire.held == 0


def test_reading_from_the_agent_does_not_wait() -> None:
    noted = Noted()
    wire = HeldWire(noted)
    wire.hold()
    wire.read_on(False)
    assert noted.done == [False]
