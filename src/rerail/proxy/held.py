"""The agent's end of a connection, which may be told to wait: all that is sent goes on in order."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from rerail.proxy.handler import Tap, Wire

HELD_SECONDS: Final = 2.0
"""How long a reply waits at most for what has to be done before the agent may have it."""


class HeldWire:
    """A wire that waits for a tap's leave: what is done to it meanwhile is done then.

    `let_go` is called whenever it has waited.
    """

    __slots__ = (
        "_connection_id", "_let_go", "_loop", "_patience", "_tap", "_waiting", "_wire", "held"
    )  # fmt: skip

    def __init__(
        self,
        wire: Wire,
        tap: Tap,
        connection_id: int,
        *,
        let_go: Callable[[], None] | None = None,
    ) -> None:
        self._wire = wire
        self._tap = tap
        self._connection_id = connection_id
        self._let_go = let_go
        self._loop: asyncio.AbstractEventLoop | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._waiting: list[Callable[[], None]] = []
        self.held = 0

    @property
    def holding(self) -> bool:
        """Whether it waits."""
        return self._loop is not None

    def ask_leave(self) -> None:
        """Wait from now on if the tap says so, but not for ever."""
        if self._loop is not None:
            return
        # Before the question: the leave may come while it is being asked.
        self._loop = asyncio.get_running_loop()
        if self._tap.may_answer(self._connection_id, self._wake):
            self._loop = None
        else:
            self._patience = self._loop.call_later(HELD_SECONDS, self._go_on_anyway)

    def write(self, data: bytes) -> None:
        if self._loop is not None:
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
        if self._loop is not None:
            self._waiting.append(act)
        else:
            act()

    def _wake(self) -> None:
        """The tap calls this, from whatever thread."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the run is over, and the loop with it
                loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        if self._loop is None:
            return
        if self._patience is not None:
            self._patience.cancel()
        self._loop, self._patience, self.held = None, None, 0
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            act()
        if self._let_go is not None:
            self._let_go()

    def _go_on_anyway(self) -> None:
        if self._loop is not None:
            self._tap.answer_anyway(self._connection_id)
            self._go_on()
