"""The command line as a person uses it: subprocesses, real host names, origins that can be stopped.

Knows nothing of what a tape holds beyond what the public reader says.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self

from rerail.tape.exchange import Exchange, exchanges
from rerail.tape.reader import Tape
from rerail.tape.records import Event
from rerail.testing.origin import HOLD, Origin

AGENTS = Path(__file__).parent / "agents"
PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended: its status, what it put out, what was said on standard error."""

    status: int
    output: bytes
    said: str

    @property
    def text(self) -> str:
        return self.output.decode()


@dataclass(frozen=True, slots=True)
class Recorded(Ran):
    """A recording, and where its tape is."""

    tape: Path

    def events(self) -> list[Event]:
        with Tape.open(self.tape) as tape:
            return list(tape.events())

    def exchanges(self) -> list[Exchange]:
        with Tape.open(self.tape) as tape:
            return exchanges(tape)

    def blob(self, digest: bytes) -> bytes:
        with Tape.open(self.tape) as tape:
            return tape.blob(digest)


@dataclass(frozen=True, slots=True)
class Replayed(Ran):
    """A replay, and its report."""

    report: dict[str, Any]

    @property
    def green(self) -> bool:
        return self.status == 0 and bool(self.report["verdict"]["green"])


class Running:
    """A command that has been started: its output line by line, its end with a deadline."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.pid = process.pid
        self._held = b""

    def line(self, *, seconds: float = 20.0) -> bytes:
        """The next line of its standard output, without its end; raises TimeoutError."""
        assert self.process.stdout is not None
        while b"\n" not in self._held:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                raise TimeoutError(f"no line came; so far {self._held!r}")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                raise EOFError(self._held)
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        return line

    def end(self, *, seconds: float = PATIENCE_SECONDS) -> Ran:
        """Wait for its end, and give what was not read yet."""
        output, said = self.process.communicate(timeout=seconds)
        return Ran(self.process.returncode, self._held + output, said.decode(errors="replace"))

    def close(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Rail:
    """Records and replays in a folder; origins are reached by the names they are given here."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self._names: list[str] = []
        self._origins: list[Origin] = []
        self._in_their_place: list[Origin] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # Origins.

    def resolve(self, name: str, origin: Origin, *, port: int = 0) -> None:
        """Let this name mean this origin; `port` is by default the scheme's own."""
        port = port or (443 if origin.url.startswith("https") else 80)
        self._names.append(f"--resolve={name}:{port}={origin.host}:{origin.port}")
        if origin not in self._origins:
            self._origins.append(origin)

    def forget_names(self) -> None:
        """From now on names are found by other means than `--resolve`."""
        self._names.clear()

    def stop_origins(self) -> None:
        """Stop them all; listeners that only count connections take their places."""
        for origin in self._origins:
            origin.close()
            listener = Origin([HOLD], host=origin.host, port=origin.port)
            self._in_their_place.append(self._stack.enter_context(listener))
        self._origins.clear()

    @property
    def reached(self) -> int:
        """How many connections came to an origin after it had been stopped."""
        return sum(listener.connections for listener in self._in_their_place)

    @property
    def names(self) -> Sequence[str]:
        """The `--resolve` options for the origins so far."""
        return tuple(self._names)

    # Commands.

    def python(self, script: str, *arguments: str) -> list[str]:
        """An agent of these tests, as a command."""
        return [sys.executable, str(AGENTS / script), *arguments]

    def rerail(self, *words: str) -> list[str]:
        """The words of a command line that means this rerail."""
        return [sys.executable, "-m", "rerail.cli", *words]

    def record(
        self,
        *command: str,
        options: Sequence[str] = (),
        tape: str = "run.tape",
        before: Sequence[str] = (),
        under: Sequence[str] = (),
        **more: Any,
    ) -> Recorded:
        """`rerail record -o TAPE OPTIONS -- COMMAND`; `before` are options of rerail itself.

        `under` is a program that starts rerail, with its own words.
        """
        words = [*before, "record", "-o", tape, *self._names, *options, "--", *command]
        ran = self.run(*under, *self.rerail(*words), **more)
        return Recorded(ran.status, ran.output, ran.said, self.folder / tape)

    def replay(
        self,
        tape: Path,
        *command: str,
        options: Sequence[str] = (),
        before: Sequence[str] = (),
        **more: Any,
    ) -> Replayed:
        """`rerail replay OPTIONS TAPE [-- COMMAND]`, and the report it writes."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        words = [*before, "replay", "--report", str(report), *options, str(tape)]
        ran = self.run(*self.rerail(*words, *(["--", *command] if command else [])), **more)
        told = json.loads(report.read_bytes()) if report.exists() else {}
        return Replayed(ran.status, ran.output, ran.said, told)

    def run(
        self,
        *command: str,
        environment: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        seconds: float = PATIENCE_SECONDS,
    ) -> Ran:
        """Run a command to its end in this folder."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            input=b"" if stdin is None else stdin,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode(errors="replace"))

    def start(self, *command: str, environment: Mapping[str, str] | None = None) -> Running:
        """Start a command in this folder; it is ended with the test."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        running = Running(process)
        self._stack.callback(running.close)
        return running

    def start_recording(
        self, *command: str, tape: str = "run.tape", options: Sequence[str] = ()
    ) -> Running:
        """Start a recording."""
        words = ["record", "-o", tape, *self._names, *options, "--", *command]
        return self.start(*self.rerail(*words))

    def there_and_back(self, *command: str, **more: Any) -> Recorded:
        """Record a command, stop the origins, replay it twice: green, and the same to the byte."""
        recorded = self.record(*command, **more)
        assert recorded.status == 0, recorded.said
        self.stop_origins()
        for _ in range(2):
            replayed = self.replay(recorded.tape)
            assert replayed.green, replayed.said
            assert first_difference(recorded.output, replayed.output) is None
            counts = replayed.report["counts"]
            assert counts["exact"] + counts["equivalent"] == counts["requests"]
        assert self.reached == 0
        return recorded


def first_difference(one: bytes, other: bytes) -> tuple[bytes, bytes] | None:
    """The first lines that differ, each with the line before it; None where all is the same."""
    before = b""
    for line, against in zip_longest(one.split(b"\n"), other.split(b"\n"), fillvalue=b"(end)"):
        if line != against:
            return before[:200] + b"\n" + line[:2000], against[:2000]
        before = line
    return None
