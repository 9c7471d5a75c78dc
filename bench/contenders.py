"""The ways in which a command can run: directly, recorded or replayed, by rerail or by the peer."""

import json
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal

from bench.client import RESULT_MARK, Findings
from bench.peer import Peer
from bench.processes import Running, Usage, free_port

Mode = Literal["recording", "replaying", "streaming"]
ROOT: Final = Path(__file__).resolve().parent.parent
_COMMAND_SECONDS: Final = 300
_PROXY_VARIABLES: Final = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}


class RunFailed(Exception):
    """A measured command failed; the message has what it said."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the bench works: a scratch folder that is there, and the origin's CA."""

    folder: Path
    origin_ca: Path

    @property
    def work(self) -> Path:
        """The working folder of every measured command."""
        return self.folder / "work"

    def environment(self) -> dict[str, str]:
        """The environment of every measured command: no proxy, a home and state of its own."""
        kept = {k: v for k, v in os.environ.items() if k.lower() not in _PROXY_VARIABLES}
        home = self.folder / "home"
        for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
            kept[variable] = str(home / variable.lower())
        kept |= {"HOME": str(home), "SSL_CERT_FILE": str(self.origin_ca)}
        return kept | {"PYTHONPATH": str(ROOT)}

    def start(self, command: list[str], more: Mapping[str, str] | None = None) -> Running:
        """Start a command here."""
        return Running.start(command, self.environment() | dict(more or {}), self.work)


def client(*arguments: str | int | float) -> list[str]:
    """The load client's command line."""
    return [sys.executable, "-m", "bench.client", *map(str, arguments)]


class Contender(ABC):
    """One way to run a command; a tape has a key, so that a replay finds its recording."""

    name: ClassVar[str]

    def __init__(self, place: Place) -> None:
        self.place = place

    def tape(self, key: str) -> Path:
        """Where the recording of this key is."""
        return self.place.folder / f"{self.name}-{key}.tape"

    @abstractmethod
    def run(self, command: list[str], mode: Mode, key: str) -> Findings:
        """Run the client's command in this mode, and return what it found.

        Where there is a recorder, its cost from start to end is among the findings.

        Raises:
            RunFailed: A reply was wrong, or the command or the recorder failed.
            OSError: The proxy did not start.
        """


class Direct(Contender):
    """No proxy at all: what the others are compared with."""

    name = "direct"

    def run(self, command: list[str], mode: Mode, key: str) -> Findings:
        running = self.place.start(command)
        return _findings(running, running.finish(_COMMAND_SECONDS))


class Rerail(Contender):
    """`rerail record` and `rerail replay`, as a person would type them."""

    name = "rerail"

    def command(self, mode: Mode, key: str, command: list[str]) -> list[str]:
        """The whole command line; a tape of that key is made anew."""
        program, tape = str(Path(sys.executable).with_name("rerail")), self.tape(key)
        if mode == "replaying":
            return [program, "replay", str(tape), "--", *command]
        tape.unlink(missing_ok=True)
        return [program, "record", "-o", str(tape), "--", *command]

    def run(self, command: list[str], mode: Mode, key: str) -> Findings:
        # The shell's process becomes the recorder: so the client is told whom to watch.
        shell = ["sh", "-c", 'export BENCH_WATCH=$$; exec "$@"', "sh"]
        running = self.place.start(shell + self.command(mode, key, command))
        usage = running.finish(_COMMAND_SECONDS)
        return _findings(running, usage) | _cost(usage)


class Mitmdump(Contender):
    """The peer as a proxy that runs beside the command."""

    name = "peer"

    def __init__(self, place: Place, peer: Peer) -> None:
        super().__init__(place)
        self._peer = peer
        self._state = place.folder / "peer"

    def start(self, mode: Mode, key: str) -> tuple[Running, int]:
        """Start a peer without waiting for it; returns its port too."""
        port, flows = free_port(), self.tape(key)
        if mode == "replaying":
            options = self._peer.replaying(flows)
        else:
            flows.unlink(missing_ok=True)
            streaming, origin_ca = mode == "streaming", self.place.origin_ca
            options = self._peer.recording(flows, origin_ca, streaming=streaming)
        return self.place.start(self._peer.command(port, self._state, *options)), port

    def run(self, command: list[str], mode: Mode, key: str) -> Findings:
        proxy, port = self.start(mode, key)
        try:
            proxy.wait_until_listening(port)
            through = self._peer.environment(port, self._state)
            running = self.place.start(command, through | {"BENCH_WATCH": str(proxy.pid)})
            findings = _findings(running, running.finish(_COMMAND_SECONDS))
            # It writes the end of its flow file when it is asked to end.
            return findings | _cost(proxy.stop(signal.SIGTERM))
        finally:
            proxy.kill()


def _cost(usage: Usage) -> Findings:
    return {"recorder_cpu_s": usage.cpu_seconds, "recorder_peak_mb": usage.peak_bytes / 1e6}


def _findings(running: Running, usage: Usage) -> Findings:
    """The client's one line. Raises RunFailed."""
    lines = [line for line in running.output.splitlines() if line.startswith(RESULT_MARK)]
    if usage.status != 0 or len(lines) != 1:
        raise RunFailed(f"ended with status {usage.status}: {running.last_words()}")
    findings: Findings = json.loads(lines[0].removeprefix(RESULT_MARK))
    return findings
