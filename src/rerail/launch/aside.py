"""Commands run aside, to their end, with what they say kept: a check, a rewind. Several at once.

Unlike `rerail.launch.child` it has no terminal, and nobody passes signals on to it. Knows no tape.
"""

import errno
import math
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, Self

from msgspec import Struct

from rerail.launch.command import SHELL
from rerail.launch.errand import OUTPUT_SIZE, run_errand

if TYPE_CHECKING:
    from rerail.sandbox.choose import Sandbox

_MERGED: Final = 'exec "$0" -c "$1" 2>&1'


class Said(Struct, frozen=True):
    """How a command ended, as a shell says it, and what it said, errors among the rest.

    `timed_out`: it was ended at its time limit. `cut`: it said more than is kept.
    """

    status: int
    output: bytes
    timed_out: bool = False
    cut: bool = False


class Aside:
    """Commands beside everything else; `with` ends those that still run.

    Lines of the shell are killed then, with what they started; programs are asked to end. A signal
    that would end us ends the block: nothing is left running that nobody waits for.
    """

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._asked_to_end: set[int] = set()
        self._handled: dict[int, Any] = {}
        self._starting = threading.Lock()
        self._over = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handled = {
                number: signal.signal(number, _leave)
                for number in (signal.SIGTERM, signal.SIGHUP)
                if signal.getsignal(number) is signal.SIG_DFL
            }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._handled.items():
            signal.signal(number, handler)
        with self._starting:
            self._over = True
            for group in self._running:
                _end(group)
            for pid in self._asked_to_end:
                with suppress(OSError):
                    os.kill(pid, signal.SIGTERM)

    def shell(
        self,
        line: str,
        folder: Path,
        environment: Mapping[str, str],
        *,
        seconds: float = math.inf,
        sandbox: "Sandbox | None" = None,
    ) -> Said:
        """Have the shell run a line in a folder, for so long; from any thread.

        Raises OSError, UsageProblem, SandboxFailed: then nothing of it has run.
        """
        environment = {**environment, "PWD": str(folder)}
        if not hasattr(os, "pidfd_open"):
            return self._shell_by_waiting(line, folder, environment, seconds)
        with self._starting:
            self._refuse_if_over()
        with ExitStack() as at_its_end:

            def began(group: int) -> None:
                with self._starting:
                    self._running.add(group)
                    if self._over:  # it was left meanwhile
                        _end(group)
                at_its_end.callback(self._end_what_is_left, group)

            words = [SHELL, "-c", _MERGED, SHELL, line]
            said = run_errand(
                words,
                cwd=folder,
                environment=environment,
                seconds=seconds,
                sandbox=sandbox,
                on_start=began,
            )
        return Said(said.status, said.output, said.timed_out, said.cut)

    def _end_what_is_left(self, group: int) -> None:
        _end(group)
        self._running.discard(group)

    def program(
        self, words: list[str], environment: Mapping[str, str], said: Path
    ) -> tuple[int, bytes]:
        """Run a program that has something to finish; from any thread. Raises OSError.

        Returns its status and its output; what it says on standard error goes to the file `said`,
        which is its owner's alone.
        """
        with open(said, "wb", opener=_for_owner) as errors, self._starting:
            self._refuse_if_over()
            process = subprocess.Popen(
                words,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
            self._asked_to_end.add(process.pid)
        try:
            output, _ = process.communicate()
            return _status(process.returncode), output
        except BaseException:
            process.terminate()
            raise
        finally:
            self._asked_to_end.discard(process.pid)

    def _shell_by_waiting(
        self, line: str, folder: Path, environment: Mapping[str, str], seconds: float
    ) -> Said:
        """Where the system has no descriptor for a process's end, and no sandbox either."""
        # A file, not a pipe: what the command leaves running would keep a pipe open.
        with tempfile.TemporaryFile() as output:
            status, timed_out = self._wait(line, folder, environment, seconds, output)
            output.seek(0)
            said = output.read(OUTPUT_SIZE)
            return Said(status, said, timed_out, cut=bool(output.read(1)))

    def _wait(
        self,
        line: str,
        folder: Path,
        environment: Mapping[str, str],
        seconds: float,
        output: IO[bytes],
    ) -> tuple[int, bool]:
        with self._starting:
            self._refuse_if_over()
            process = subprocess.Popen(
                [SHELL, "-c", line],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            self._running.add(process.pid)
        try:
            return _status(process.wait(min(seconds, threading.TIMEOUT_MAX))), False
        except subprocess.TimeoutExpired:
            _end(process.pid)
            return _status(process.wait()), True
        finally:
            self._end_what_is_left(process.pid)

    def _refuse_if_over(self) -> None:
        """Whoever comes late would start what nobody ends."""
        if self._over:
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _for_owner(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


def _status(code: int) -> int:
    return code if code >= 0 else 128 - code


def _end(group: int) -> None:
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)
