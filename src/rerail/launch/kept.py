"""A program that stays: told bytes on its standard input, heard on its standard output, in time.

Knows no protocol. Nothing here waits without an end: whoever listens says until when.
"""

import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from rerail.clock import monotonic_ns
from rerail.launch.command import cannot_start

CHUNK: Final = 1 << 16
KEPT_OF_ERRORS: Final = 4096
SECONDS_TO_LEAVE: Final = 2.0
_READABLE: Final = select.POLLIN | select.POLLHUP | select.POLLERR


class TooSlow(Exception):
    """What was waited for did not come in time."""


class KeptProcess:
    """One running program. `ended` tells whether it closed its output; `errors` is what it wrote
    last on standard error."""

    def __init__(self, words: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        """Raises `CommandNotFound`, `CommandNotExecutable`."""
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                words,
                cwd=cwd,
                env=dict(environment),
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except OSError as error:
            raise cannot_start(words[0], words[0], error) from error
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._in, self._out, self._err = (
            self._process.stdin.fileno(),
            self._process.stdout.fileno(),
            self._process.stderr.fileno(),
        )
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        self._unsent = bytearray()
        self._errors = bytearray()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._err, select.POLLIN)
        self.ended = False

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    @property
    def errors(self) -> str:
        """The end of what it wrote on standard error."""
        return self._errors.decode(errors="replace").strip()

    def send(self, content: bytes) -> None:
        """Put bytes on their way; they go out while the next `receive` listens."""
        self._unsent += content

    def receive(self, until_ns: int) -> bytes:
        """What it says next; empty once it has closed its output. Raises `TooSlow`.

        Writes at the same time: a program that says much before it reads must not block us.
        """
        while not self.ended:
            left = until_ns - monotonic_ns()
            if left <= 0:
                raise TooSlow
            self._poll_input()
            for descriptor, _ in self._poll.poll(left / 1e6 + 1):
                if descriptor == self._in:
                    self._write()
                elif descriptor == self._err:
                    self._hear_errors()
                elif heard := self._read():
                    return heard
        return b""

    def stop(self) -> None:
        """End it: its input is closed, then it is killed; its whole group goes."""
        assert self._process.stdin and self._process.stdout and self._process.stderr
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            self.kill()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.stdout.close()
        self._process.stderr.close()
        self.ended = True

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()

    # Between the two.

    def _poll_input(self) -> None:
        if self._unsent:
            self._poll.register(self._in, select.POLLOUT)
        else:
            with suppress(KeyError):
                self._poll.unregister(self._in)

    def _write(self) -> None:
        try:
            written = os.write(self._in, self._unsent[:CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            written = len(self._unsent)  # It reads no more; what it still says is heard.
        del self._unsent[:written]

    def _read(self) -> bytes:
        try:
            heard = os.read(self._out, CHUNK)
        except BlockingIOError:
            return b""
        self.ended = not heard
        return heard

    def _hear_errors(self) -> None:
        with suppress(BlockingIOError):
            heard = os.read(self._err, CHUNK)
            if not heard:
                self._poll.unregister(self._err)
            self._errors += heard
            del self._errors[:-KEPT_OF_ERRORS]
