"""Holds the reply to one request until a person says so: the moment to attach a debugger."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rerail.errors import UsageProblem

TERMINAL: Final = Path("/dev/tty")


class Hold:
    """Holds request `number` of a replay. Other requests are answered meanwhile."""

    def __init__(self, number: int, tell: Callable[[str], None]) -> None:
        """`tell` shows a line to the person. Raises `UsageProblem` without a terminal."""
        self._number = number
        self._tell = tell
        try:
            self._terminal = os.open(TERMINAL, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageProblem(
                "a reply cannot be held here: there is no terminal on which to press Enter",
                hint="run `rerail replay --pause-at` in a terminal",
            ) from error

    def holds(self, number: int, what: str, then: Callable[[], None]) -> bool:
        """Whether this is the request; `then` is called when Enter was pressed."""
        if number != self._number or self._terminal < 0:
            return False
        self._tell(f"r{number} is held: {what}; press Enter to let its reply go")
        loop = asyncio.get_running_loop()

        def pressed() -> None:
            os.read(self._terminal, 4096)
            loop.remove_reader(self._terminal)
            self.close()
            then()

        loop.add_reader(self._terminal, pressed)
        return True

    def close(self) -> None:
        """Give the terminal back."""
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
