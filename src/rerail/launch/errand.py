"""An errand: a command run within a time limit, in a sandbox or not, both its streams kept.

It has a session of its own, and no terminal: at the time limit all of the session's first group is
ended. Where it is the only one at a time, all that it leaves running is ended with it. Knows no
tape. Whether what was begun has had an effect, nobody can tell from here.
"""

import os
import select
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct

from rerail.clock import monotonic_ns
from rerail.errors import UsageProblem
from rerail.launch.child import adopt_orphans
from rerail.launch.family import arguments_of, descendants_of, is_childless, own_children
from rerail.launch.spawn import spawn

if TYPE_CHECKING:
    from rerail.sandbox.choose import Sandbox

OUTPUT_SIZE: Final = 16 << 20
"""Bytes of each stream that are kept; what comes after is read and forgotten."""

_LINGER_NS: Final = 200_000_000
"""So long what it left running may still say something."""

_WAIT_NS: Final = 3600 * 1_000_000_000
"""The longest single wait: poll(2) counts milliseconds in 31 bits."""

_PIECE: Final = 1 << 16


class Errand(Struct, frozen=True):
    """How it ended and what it said. `cut`: it said more than is kept; `left`: the commands that it
    had left running, and that were ended."""

    status: int
    signal: int = 0
    timed_out: bool = False
    output: bytes = b""
    errors: bytes = b""
    cut: bool = False
    left: tuple[str, ...] = ()

    @property
    def well(self) -> bool:
        """Whether it ended by itself, with status 0, and all it said is there."""
        return not (self.status or self.signal or self.timed_out or self.cut)


def must_be_possible() -> None:
    """Raises UsageProblem where the system has no descriptor for a process's end."""
    if not hasattr(os, "pidfd_open"):
        raise UsageProblem(
            "this system cannot tell when a command ends within its time",
            hint="run it on Linux 5.3 or later",
        )


def run_errand(
    words: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    sandbox: "Sandbox | None" = None,
    on_start: Callable[[int], None] | None = None,
    alone: bool = False,
) -> Errand:
    """Run a command to its end, or to the time limit. It ends with us, too.

    `on_start` is told the number of its session, which is that of its first process. `alone`: we
    start nothing else meanwhile, so that what comes to us is its own, and is ended with it.

    Raises `CommandNotFound`, `CommandNotExecutable`, `UsageProblem`, `SandboxFailed` where it could
    not be started: then it has done nothing.
    """
    with ExitStack() as closing:
        output, output_end = os.pipe()
        errors, errors_end = os.pipe()
        closing.callback(os.close, output)
        closing.callback(os.close, errors)
        family = closing.enter_context(_Family()) if alone else None
        with Path(os.devnull).open("rb") as nothing:
            try:
                streams = (nothing.fileno(), output_end, errors_end)
                pid = spawn(
                    words, cwd=cwd, environment=environment, sandbox=sandbox, streams=streams
                ).pid
            finally:
                os.close(output_end)
                os.close(errors_end)
        return _Watched(pid, output, errors, seconds, family).ended(on_start)


class _Family:
    """Everything that comes to this process while it is open, orphans too: the errand's own."""

    def __init__(self) -> None:
        self._strangers = frozenset(own_children())
        self._ended: dict[int, str] = {}

    def __enter__(self) -> Self:
        # Before the start: what it starts may be an orphan within a millisecond.
        adopt_orphans(True)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        adopt_orphans(False)

    def end(self) -> tuple[str, ...]:
        """Kill what is left, and what that starts meanwhile; returns all that was ended so far."""
        while left := self._left():
            self._ended |= left
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._reap()
        self._reap()
        return tuple(self._ended.values())

    def _left(self) -> dict[int, str]:
        if is_childless(but=self._strangers):
            return {}
        found = descendants_of(os.getpid(), but=self._strangers)
        # One without arguments is on its way out: it has given its memory back already.
        return {pid: shlex.join(words) for pid in found if (words := arguments_of(pid))}

    def _reap(self) -> None:
        for pid in own_children():
            if pid not in self._strangers:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


class _Watched:
    """The running command, its two streams and its deadline."""

    def __init__(
        self, pid: int, output: int, errors: int, seconds: float, family: _Family | None
    ) -> None:
        self._pid = pid
        self._family = family
        try:
            self._end = os.pidfd_open(pid)
        except BaseException:
            self._kill()
            os.waitpid(pid, 0)
            raise
        self._said = {output: bytearray(), errors: bytearray()}
        self._open = set(self._said)
        self._deadline = monotonic_ns() + int(min(seconds, 1e9) * 1e9)
        self._cut = False

    def ended(self, on_start: Callable[[int], None] | None) -> Errand:
        try:
            if on_start is not None:
                on_start(self._pid)
            timed_out = not self._listen(until_end=True)
        except BaseException:
            self._kill()
            os.waitpid(self._pid, 0)
            raise
        else:
            if timed_out:
                self._kill()
            code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        finally:
            os.close(self._end)
        left = self._family.end() if self._family else ()
        self._deadline = monotonic_ns() + _LINGER_NS
        self._listen(until_end=False)
        output, errors = (bytes(said) for said in self._said.values())
        number = -code if code < 0 else 0
        return Errand(
            128 + number if number else code, number, timed_out, output, errors, self._cut, left
        )

    def _listen(self, *, until_end: bool) -> bool:
        """Read what comes, until it has ended, or else said its last; False at the deadline."""
        while until_end or self._open:
            left = self._deadline - monotonic_ns()
            if left <= 0:
                return False
            waiting = select.poll()
            for descriptor in (*self._open, *((self._end,) if until_end else ())):
                waiting.register(descriptor, select.POLLIN)
            ready = [descriptor for descriptor, _ in waiting.poll(min(left, _WAIT_NS) / 1e6)]
            for descriptor in ready:
                if descriptor != self._end:
                    self._read(descriptor)
            if until_end and ready == [self._end]:
                return True
        return True

    def _read(self, descriptor: int) -> None:
        piece = os.read(descriptor, _PIECE)
        if not piece:
            self._open.discard(descriptor)
        said = self._said[descriptor]
        room = OUTPUT_SIZE - len(said)
        said += piece[:room]
        self._cut = self._cut or len(piece) > room

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
