"""Looks at the connections of a recorded command, and lets every one of them go on.

A filter has connect(2) wait until it was looked at. A filter belongs to the thread that installed
it and is passed on to what the thread starts: so a thread installs it, starts the command and ends.
Loads little: every recording loads it.
"""

import gc
import os
import select
import signal
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from rerail.sandbox import seccomp
from rerail.sandbox.bpf import ALLOW, ARCHITECTURE, ASK, NUMBER, Program, argument
from rerail.sandbox.machine import X32_CALLS, Architecture, here

if TYPE_CHECKING:
    from rerail.sandbox.passing import Passed

NEEDED_RIGHTS: Final = ("sudo", "doas", "newuidmap")
"""Set-uid programs that agents start. They would fail below a filter that a user installs."""

_NO_SIGNALS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_SIZES: Final = (16, 28, 128)
"""Of struct sockaddr_in, _in6 and _storage: connections to other addresses do not wait at all."""

T = TypeVar("T")


class Lookout:
    """Tells of connections that go past the recorder's `ports`, from a thread of its own.

    `run` gives the processes of the run. `refusal` says why there is nothing to tell, once the
    command has been started.
    """

    def __init__(
        self,
        machine: Architecture,
        ports: Collection[int],
        run: Callable[[], Iterable[int]],
        tell: "Callable[[Passed], None]",
    ) -> None:
        self.refusal = ""
        self._machine = machine
        self._ports = ports
        self._run = run
        self._tell = tell
        self._asks = -1
        self._thread = threading.Thread(target=self._look, name="lookout", daemon=True)

    def start(self, command: Callable[[], T]) -> T:
        """Call `command`, which starts a process, so that the process is looked at."""
        outcome: list[T] = []
        failure: list[BaseException] = []

        def start() -> None:
            try:
                self._asks = seccomp.install_asking(program(self._machine), self._machine)
            except OSError as error:
                self.refusal = error.strerror or str(error)
            try:
                outcome.append(command())
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=start, name="starts")
        thread.start()
        thread.join()
        if self._asks >= 0:
            self._thread.start()
        if failure:
            raise failure[0]
        return outcome[0]

    def join(self, seconds: float) -> bool:
        """Wait for the last process of the run, within a bound; whether it is gone."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def leave(self) -> None:
        """Leave a process behind that lets calls go on when this one has ended.

        The kernel refuses calls that nobody is left to look at.
        """
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            # Python 3.12 warns of threads. The child runs what is loaded, until nobody asks.
            pid = os.fork()
        if pid == 0:
            try:
                _stay_behind(self._asks)
                self._tell = lambda passed: None
                self._look()
            finally:
                os._exit(0)

    def _look(self) -> None:
        waiting = select.poll()
        waiting.register(self._asks, select.POLLIN)
        looking = None
        while all(event & select.POLLIN for _, event in waiting.poll()):
            if looking is None:
                from rerail.sandbox.passing import Looking

                looking = Looking(self._asks, self._machine, self._ports, self._run, self._tell)
            with suppress(OSError):  # The caller is gone, and its call with it.
                looking.answer_one()
        os.close(self._asks)


def _stay_behind(kept: int) -> None:
    """Let go of everything of the recorder's: its terminal, its pipes, its ports."""
    gc.disable()
    os.setsid()
    for number in _NO_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - no path is needed
        if int(name) != kept:
            with suppress(OSError):
                os.close(int(name))


def program(machine: Architecture) -> bytes:
    """The filter that asks about connect(2) with an internet address."""
    filter_ = Program()
    filter_.load(ARCHITECTURE)
    filter_.when_equal(machine.audit, "native")
    if machine.foreign_connect:
        filter_.load(NUMBER)
        filter_.when_equal(machine.foreign_connect, "connect")
    filter_.end(ALLOW)
    filter_.label("native")
    filter_.load(NUMBER)
    filter_.when_equal(machine.connect, "connect")
    if machine.has_x32:
        filter_.when_equal(X32_CALLS | machine.connect, "connect")
    filter_.end(ALLOW)
    filter_.label("connect")
    filter_.load(argument(2))
    for size in _SIZES:
        filter_.when_equal(size, "ask")
    filter_.end(ALLOW)
    filter_.label("ask")
    filter_.end(ASK)
    return filter_.encode()


def why_not(environment: Mapping[str, str], wanted: bool | None) -> str:
    """Why connections are not to be looked at, "" if they are; `wanted=None` lets PATH decide.

    Without privilege a filter takes away the rights that a program's file gives (no_new_privs).
    """
    if wanted is False:
        return "not asked for"
    machine = here()
    if machine is None or not seccomp.can_ask(machine):
        return "this kernel cannot tell"
    if os.geteuid() != 0 and not wanted:
        for folder in environment.get("PATH", os.defpath).split(":"):
            for name in NEEDED_RIGHTS:
                if os.access(f"{folder}/{name}", os.X_OK):
                    return f"`{name}` would not work below it"
    return ""
