"""Supervised commands in a process of their own, with a terminal or without."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SECONDS = 10.0

SUPERVISOR = """
import os, sys
from pathlib import Path
from rerail.launch.child import start
from rerail.sandbox.choose import choose_sandbox
sandbox = choose_sandbox() if sys.argv[1] == "sandboxed" else None
with start(
    sys.argv[2:], cwd=Path.cwd(), environment=dict(os.environ), sandbox=sandbox, ports=[4321]
) as child:
    status = child.wait().status
print("recorder: over", status, flush=True)
sys.exit(status)
"""

TAKES_TERMINAL = """
import os, sys
name = sys.argv.pop(1)
for descriptor in range(3):
    os.dup2(os.open(name, os.O_RDWR), descriptor)  # the session's first terminal is its own
os.execvp(sys.argv[1], sys.argv[1:])
"""


def supervised(*command: str, sandboxed: bool = False) -> list[str]:
    """The words that run a command under supervision."""
    return [sys.executable, "-c", SUPERVISOR, "sandboxed" if sandboxed else "free", *command]


def python(text: str) -> list[str]:
    """The words that run a Python program given as indented text."""
    return [sys.executable, "-c", textwrap.dedent(text)]


class Terminal:
    """A terminal with a program in its foreground, as a person has it."""

    def __init__(self, *command: str, columns: int = 80) -> None:
        self._keyboard, self._screen = pty.openpty()
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        words = [sys.executable, "-c", TAKES_TERMINAL, os.ttyname(self._screen), *command]
        self.process = subprocess.Popen(
            words, start_new_session=True, env={**os.environ, "TERM": "dumb"}
        )
        self.shown = b""

    def type(self, text: bytes) -> None:
        """Press keys."""
        os.write(self._keyboard, text)

    def resize(self, columns: int) -> None:
        """Change the window's width."""
        fcntl.ioctl(self._keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def expect(self, text: bytes) -> bytes:
        """Wait until this is shown; returns all that came before it since the last time."""
        deadline = time.monotonic() + SECONDS
        while text not in self.shown:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._keyboard], [], [], max(left, 0))
            assert ready, f"{text!r} was not shown, but {self.shown!r}"
            self.shown += os.read(self._keyboard, 4096)
        before, _, self.shown = self.shown.partition(text)
        return before

    def close(self) -> None:
        """Hang up, and end what is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)
        os.close(self._keyboard)
        os.close(self._screen)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """`terminal(*command)` gives a terminal that runs the command; closed after the test."""
    with contextlib.ExitStack() as stack:

        def opened(*command: str, columns: int = 80) -> Terminal:
            made = Terminal(*command, columns=columns)
            stack.callback(made.close)
            return made

        yield opened


class Supervised:
    """A supervised command without a terminal, in a session of its own."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            supervised(*command), stdout=subprocess.PIPE, start_new_session=True
        )
        assert self.process.stdout is not None
        self._output = self.process.stdout

    def line(self) -> str:
        """The next line of output."""
        return self._output.readline().decode().strip()

    def close(self) -> None:
        """End what is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)
        self._output.close()


@pytest.fixture
def supervise() -> Iterator[Callable[..., Supervised]]:
    """`supervise(*command)` runs a command under supervision, until the test is over."""
    with contextlib.ExitStack() as stack:

        def run(*command: str) -> Supervised:
            made = Supervised(*command)
            stack.callback(made.close)
            return made

        yield run


def wait_until(condition: Callable[[], object], seconds: float = SECONDS) -> None:
    """Return when the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what the test waits for did not come"
        time.sleep(0.005)


@pytest.fixture
def eventually() -> Callable[..., None]:
    """`eventually(condition)` returns when the condition holds."""
    return wait_until


@pytest.fixture
def say() -> Callable[[str], list[str]]:
    """`say(program text)` gives the words that run a Python program."""
    return python


@pytest.fixture
def under_supervision() -> Callable[..., list[str]]:
    """`under_supervision(*command)` gives the words that run a command under supervision."""
    return supervised


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A small environment with PATH."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
