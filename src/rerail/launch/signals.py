"""Signals between a shell, this process and its one child: passed on where they would be lost.

The child is in our process group, so a terminal's own signals (Ctrl-C, Ctrl-\\, a new window size)
reach both of us and must not arrive twice; those sent to us alone are passed on. Stopping goes the
other way as well: a child that stops by itself stops us, or the shell would wait for ever. A child
`apart` has a session of its own: no terminal reaches it, so its keys are passed on to its group.
"""

import os
import signal
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

FORWARDED: Final = (
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCONT,
)
SENT_BY_TERMINALS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH)
"""Forwarded only when this process is not where a terminal sends them."""

SETTLING_SECONDS: Final = 0.02


class Forwarding:
    """Handlers for the life of a child. Does nothing outside the main thread (signal(3) rules)."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is called when some child of this process has ended or stopped."""
        self._changed = changed
        self.apart = False
        self._child: int | None = None
        self._over = False
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def install(self) -> None:
        """Take the signals over. What was ignored stays ignored: `nohup` means the child too."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in FORWARDED:
            self._take(number, self._pass_on)
        for number in SENT_BY_TERMINALS:
            self._take(number, self._pass_on_if_alone)
        self._take(signal.SIGCHLD, lambda *_: self._changed())

    def _take(self, number: int, handler: Callable[[int, FrameType | None], Any]) -> None:
        before = signal.getsignal(number)
        if before is not signal.SIG_IGN or number == signal.SIGCHLD:
            self._before[number] = before
            signal.signal(number, handler)

    def attach(self, child: int) -> None:
        """The child is there: it gets what came before it."""
        self._child = child
        early, self._early = self._early, []
        for number in early:
            self.send(number)

    def send(self, number: int) -> None:
        """Signal the child, as soon as there is one; nothing happens once it is gone."""
        if self._over:
            return
        if self._child is None:
            self._early.append(number)
            return
        with suppress(ProcessLookupError):
            os.kill(self._child, number)

    def detach(self) -> None:
        """The child is gone, and its number may soon be somebody else's."""
        self._over = True

    def release(self) -> None:
        """Give the signals back."""
        if threading.current_thread() is threading.main_thread():
            for number, before in self._before.items():
                signal.signal(number, before)
        self._before.clear()

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        self.send(number)

    def _pass_on_if_alone(self, number: int, _frame: FrameType | None) -> None:
        if self.apart and self._child is not None and not self._over:
            with suppress(ProcessLookupError):
                os.killpg(self._child, number)  # as a terminal does it
        elif self.apart or not terminal_sends_to_us():
            self.send(number)

    def stop_with_child(self, still_stopped: Callable[[], bool]) -> None:
        """Stop as the child did, and go on together.

        A terminal's Ctrl-Z stops us both and `fg` wakes us both, in either order: so the child is
        looked at again after a moment, and only one that stays stopped stops us. Away from a
        terminal nobody waits for us to stop, and perhaps nobody would wake us.
        """
        time.sleep(SETTLING_SECONDS)
        if still_stopped() and in_foreground():
            os.kill(os.getpid(), signal.SIGSTOP)
            self.send(signal.SIGCONT)


def in_foreground() -> bool:
    """Whether a terminal has this process in its foreground group."""
    with suppress(OSError), _terminal() as terminal:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    return False


def terminal_sends_to_us() -> bool:
    """Whether a terminal turns keys into signals, for us among others."""
    with suppress(OSError, termios.error), _terminal() as terminal:
        return bool(termios.tcgetattr(terminal)[3] & termios.ISIG) and in_foreground()
    return False


@contextmanager
def _terminal() -> Iterator[int]:
    descriptor = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
