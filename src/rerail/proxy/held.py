"""The agent's end of a connection, which may be told to wait: all that is sent goes on in order."""

from collections.abc import Callable

from rerail.proxy.handler import Wire


class HeldWire:
    """A wire that can be held: what is done to it meanwhile is done when it is let go."""

    __slots__ = ("_waiting", "_wire", "held", "holding")

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._waiting: list[Callable[[], None]] = []
        self.holding = False
        self.held = 0

    def hold(self) -> None:
        """From now on everything waits."""
        self.holding = True

    def let_go(self) -> None:
        """What waits goes on, and what comes after it at once."""
        self.holding, self.held = False, 0
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            act()

    def write(self, data: bytes) -> None:
        if self.holding:
            self.held += len(data)
            self._waiting.append(lambda: self._wire.write(data))
        else:
            self._wire.write(data)

    def write_end(self) -> None:
        self._do(self._wire.write_end)

    def close(self) -> None:
        self._do(self._wire.close)

    def cut(self) -> None:
        self._do(self._wire.cut)

    def reset(self) -> None:
        self._do(self._wire.reset)

    def read_on(self, ready: bool) -> None:
        self._wire.read_on(ready)

    def _do(self, act: Callable[[], None]) -> None:
        if self.holding:
            self._waiting.append(act)
        else:
            act()
