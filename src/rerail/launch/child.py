"""One command under supervision: started, signalled, waited for, its descendants counted.

Knows no event loop: `pidfd` becomes readable when the command has ended, whatever waits on it.
"""

import os
import select
import signal
import socket
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct

from rerail.clock import monotonic_ns
from rerail.launch.family import arguments_of, descendants_of, is_childless, own_children
from rerail.launch.signals import Forwarding
from rerail.launch.spawn import spawn

if TYPE_CHECKING:
    from rerail.sandbox.choose import Sandbox
    from rerail.sandbox.lookout import Lookout

PR_SET_CHILD_SUBREAPER: Final = 36
LEAVING_SECONDS: Final = 0.1
"""Python's pools have helpers that notice within milliseconds that they are alone."""


class Ending(Struct, frozen=True):
    """How a command ended. `status` is what a shell says: 128+n where signal n ended it."""

    status: int
    signal: int = 0


class Child:
    """A running command. `close` (or `with`) gives back what it changed in this process.

    `pid` is the command's; `pidfd` is readable once it has ended; `listeners` are the sockets that
    its sandbox made for the recorder, none where it made none.
    """

    def __init__(self) -> None:
        self.pid = 0
        self.pidfd = -1
        self.listeners: tuple[socket.socket, ...] = ()
        self._forwarding = Forwarding(self._some_child_changed)
        self._strangers = frozenset(own_children())
        self._ending: Ending | None = None
        self._thread: _WaitingThread | None = None

    def send_signal(self, number: int) -> None:
        """Signal the command; nothing happens once it has ended."""
        self._forwarding.send(number)

    def ends_within(self, seconds: float, *, unless: Iterable[int] = ()) -> bool:
        """Whether it ends so soon, and none of these descriptors can be read by then."""
        waiting = select.poll()
        for descriptor in (self.pidfd, *unless):
            waiting.register(descriptor, select.POLLIN)
        return [ready for ready, _ in waiting.poll(seconds * 1000)] == [self.pidfd]

    def wait(self) -> Ending:
        """Wait for the command's end; its descendants may go on. Says the same every time."""
        if self._ending is None:
            raw = self._thread.result() if self._thread else os.waitpid(self.pid, 0)[1]
            self._forwarding.detach()
            code = os.waitstatus_to_exitcode(raw)
            self._ending = Ending(code) if code >= 0 else Ending(128 - code, -code)
        return self._ending

    def disregard(self, pid: int) -> None:
        """This child of ours is not the command's."""
        self._strangers |= {pid}

    def left_behind(self) -> list[tuple[int, list[str]]]:
        """The same of what stays: helpers that end because the command did have a moment for it."""
        if left := self.descendants():
            _wait_for([pid for pid, _ in left], LEAVING_SECONDS)
            left = self.descendants()
        return left

    def descendants(self) -> list[tuple[int, list[str]]]:
        """What the command left behind and still runs, as (pid, arguments)."""
        if is_childless(but=self._strangers):
            return []  # Every line of descent begins with a child of ours. This is the quick way.
        found = [pid for pid in descendants_of(os.getpid()) if pid not in self._strangers]
        # One without arguments is on its way out: it has given its memory back already.
        return [(pid, words) for pid in found if (words := arguments_of(pid))]

    def end_descendants(self) -> None:
        """Kill what the command left behind, and what that starts meanwhile."""
        while left := self.descendants():
            for pid, _ in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in own_children():
                if pid != self.pid and pid not in self._strangers:
                    with suppress(ChildProcessError):
                        os.waitpid(pid, 0)

    def close(self) -> None:
        """Give the signals back, adopt no more, close what is open. The command may go on."""
        self._forwarding.release()
        self._reap_adopted()
        adopt_orphans(False)
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # From start to end.

    def _start(
        self,
        words: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        sandbox: "Sandbox | None",
        ports: Sequence[int],
        lookout: "Lookout | None",
        streams: Sequence[int],
    ) -> None:
        self._forwarding.apart = bool(streams)
        self._forwarding.install()
        # Before the start: a command may be gone, and its orphans with it, within a millisecond.
        adopt_orphans(True)
        try:
            go = partial(
                spawn, words, cwd=cwd, environment=environment, sandbox=sandbox, ports=ports,
                streams=streams,
            )  # fmt: skip
            spawned = go() if lookout is None else lookout.start(go)
        except BaseException:
            self.close()
            raise
        self.pid, self.listeners = spawned.pid, spawned.listeners
        self._forwarding.attach(self.pid)
        self.pidfd = self._end_descriptor()

    def _end_descriptor(self) -> int:
        """Linux has a descriptor for a process's end since 5.3; elsewhere a thread waits for it."""
        with suppress(AttributeError, OSError):
            return os.pidfd_open(self.pid)
        self._thread = _WaitingThread(self.pid)
        return self._thread.descriptor

    def _some_child_changed(self) -> None:
        if self._is_stopped():
            self._forwarding.stop_with_child(self._is_stopped)
        self._reap_adopted()

    def _is_stopped(self) -> bool:
        with suppress(AttributeError, ChildProcessError):
            options = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            return self.pid > 0 and os.waitid(os.P_PID, self.pid, options) is not None
        return False

    def _reap_adopted(self) -> None:
        """Orphans of the command became our children: their entries go when they end."""
        if not self.pid:
            return  # The command is not known yet, and must not be taken for an orphan.
        for pid in own_children():
            if pid != self.pid and pid not in self._strangers:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _wait_for(pids: Iterable[int], seconds: float) -> None:
    """Wait so long for the end of all of these; not at all where Linux does not tell of it."""
    until = monotonic_ns() + int(seconds * 1e9)
    for pid in pids:
        with suppress(AttributeError, OSError):
            descriptor = os.pidfd_open(pid)
            try:
                waiting = select.poll()
                waiting.register(descriptor, select.POLLIN)
                waiting.poll(max(0, until - monotonic_ns()) / 1e6)
            finally:
                os.close(descriptor)


class _WaitingThread:
    """Waits for a process; `descriptor` is at its end when the process is."""

    def __init__(self, pid: int) -> None:
        self.descriptor, self._open_end = os.pipe()
        self._pid = pid
        self._raw = 0
        self._thread = threading.Thread(target=self._wait, name="waits", daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        _, self._raw = os.waitpid(self._pid, 0)
        os.close(self._open_end)

    def result(self) -> int:
        """The raw status, once there is one."""
        self._thread.join()
        return self._raw


def start(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    sandbox: "Sandbox | None" = None,
    ports: Sequence[int] = (),
    lookout: "Lookout | None" = None,
    streams: Sequence[int] = (),
) -> Child:
    """Start a command with our terminal and in our process group, and pass signals on to it.

    With `streams`, its three, it has a session of its own instead, no terminal, and ends with us.

    With a `sandbox`, `ports` are where the recorder is to be reached from inside on 127.0.0.1:
    where the sandbox `listens_inside`, the child's `listeners` are bound to them in this order,
    else the caller's own are. Without one, a `lookout` may look at the command's connections.

    Raises `CommandNotFound`, `CommandNotExecutable`, `UsageProblem`, `SandboxFailed`.
    """
    child = Child()
    child._start(command, cwd, environment, sandbox, ports, lookout, streams)
    return child


def adopt_orphans(wanted: bool) -> None:
    """Descendants whose parent ends become our children, not init's (prctl(2)); Linux only."""
    with suppress(AttributeError, ImportError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)
