"""Looks at the connections of a recorded command, and lets every one of them go on.

A filter has connect(2) wait until it was looked at. A filter belongs to the thread that installed
it and is passed on to what the thread starts: so a thread installs it, starts the command and ends.
Loads little: every recording loads it.
"""

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from rerail.sandbox import seccomp
from rerail.sandbox.bpf import ALLOW, ARCHITECTURE, ASK, NUMBER, Program, argument
from rerail.sandbox.machine import X32_CALLS, Architecture, here
from rerail.sandbox.staying import answer_all, stand_by, stay_behind

if TYPE_CHECKING:
    from rerail.sandbox.passing import Looking, Passed

NEEDED_RIGHTS: Final = ("sudo", "doas", "newuidmap")
"""Set-uid programs that agents start. They would fail below a filter that a user installs."""

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
        # The thread closes it once nobody asks: its number may then be that of anything.
        self._guard = threading.Lock()
        self._standing_by = 0
        self._present = -1
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

    def stand_by(self) -> int:
        """Have a process at hand that lets calls go on should this one be killed.

        Gives its pid, 0 where there is nothing to look at.
        """
        if self._thread.is_alive():
            # Loaded now: nothing may be there to be loaded from once it is needed.
            from rerail.sandbox.notify import let_go_on

            with self._guard:
                asks = self._asks
                if asks >= 0:
                    serve = partial(answer_all, asks, partial(let_go_on, asks))
                    self._standing_by, self._present = stand_by(asks, serve)
        return self._standing_by

    def join(self, seconds: float) -> bool:
        """Wait for the last process of the run, within a bound; whether it is gone."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        if self._thread.is_alive():
            return False
        self._dismiss()
        return True

    def leave(self) -> None:
        """Have calls go on when this process has ended; nobody is told of them any more."""
        self._tell = lambda passed: None
        with self._guard:
            if not self._standing_by and self._asks >= 0:
                stay_behind(self._asks, self._answer)

    def _dismiss(self) -> None:
        if self._standing_by:
            os.close(self._present)
            with suppress(ChildProcessError):
                os.waitpid(self._standing_by, 0)
            self._standing_by = 0

    def _look(self) -> None:
        self._answer()
        with self._guard:
            os.close(self._asks)
            self._asks = -1

    def _answer(self) -> None:
        looking: list[Looking] = []

        def answer_one() -> None:
            if not looking:
                from rerail.sandbox.passing import Looking

                made = Looking(self._asks, self._machine, self._ports, self._run, self._tell)
                looking.append(made)
            looking[0].answer_one()

        answer_all(self._asks, answer_one)


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
