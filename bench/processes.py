"""Starting and ending processes, and what they cost as the system counts it (Linux)."""

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import IO, Final, Self

_POLL_SECONDS: Final = 0.003
_LAST_LINES: Final = 3
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process that has ended cost, the children it waited for included.

    CPU in seconds (user and system), the largest resident set in bytes.
    """

    status: int
    cpu_seconds: float
    peak_bytes: int


class Running:
    """A child whose output goes to nameless files, so that nothing need read while it runs.

    `output` and `errors` are what it wrote, once it has been waited for.
    """

    def __init__(self, process: "subprocess.Popen[str]", output: IO[str], errors: IO[str]) -> None:
        self._process = process
        self._files = (output, errors)
        self.pid = process.pid
        self.output = ""
        self.errors = ""

    @classmethod
    def start(cls, command: list[str], environment: Mapping[str, str], cwd: Path) -> Self:
        """Start a command with no input."""
        files = [tempfile.TemporaryFile("w+") for _ in range(2)]  # noqa: SIM115
        output, errors = files
        null = subprocess.DEVNULL
        process = subprocess.Popen(
            command, env=environment, cwd=cwd, stdin=null, stdout=output, stderr=errors, text=True
        )
        return cls(process, output, errors)

    def finish(self, seconds: float) -> Usage:
        """Wait for the end, which comes by force after so many seconds; say what it cost."""
        timer = Timer(seconds, self._process.kill)
        timer.start()
        try:
            _, status, usage = os.wait4(self.pid, 0)
        finally:
            timer.cancel()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._read()
        cpu = usage.ru_utime + usage.ru_stime
        return Usage(self._process.returncode, cpu, usage.ru_maxrss * 1024)

    def stop(self, number: signal.Signals, seconds: float = 30) -> Usage:
        """Signal it, wait for the end and say what it cost."""
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
        return self.finish(seconds)

    def kill(self) -> None:
        """End it now, if it still runs."""
        if self._process.returncode is None:
            self.stop(signal.SIGKILL)

    def last_words(self) -> str:
        """The end of what it wrote, on one line."""
        lines = (self.output + "\n" + self.errors).split("\n")
        return " / ".join([line.strip() for line in lines if line.strip()][-_LAST_LINES:])

    def _read(self) -> None:
        texts = []
        for file in self._files:
            with file:
                file.seek(0)
                texts.append(file.read())
        self.output, self.errors = texts

    def wait_until_listening(self, port: int, seconds: float = 60) -> None:
        """Return when it accepts connections. Raises OSError where it ends or is too slow."""
        deadline = monotonic() + seconds
        while monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                status = self.finish(seconds).status
                raise OSError(f"ended with status {status} before it listened: {self.last_words()}")
            sleep(_POLL_SECONDS)
        raise OSError(f"did not listen within {seconds:g} s")


def cpu_seconds(process_id: int) -> float:
    """CPU seconds (user and system, all threads) of a running process, without its children."""
    stat = Path(f"/proc/{process_id}/stat").read_text()
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def keep_to_last_processor() -> None:
    """Run this process on one processor from now on, so that what is measured has the others.

    Otherwise the scheduler likes to put a client beside whoever wakes it, and all share one.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def free_port() -> int:
    """A loopback port that nobody listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert isinstance(port, int)
        return port
