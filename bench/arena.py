"""What every measurement needs: an origin, the contenders, and how long to go on."""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeVar

from bench.client import Findings
from bench.contenders import ROOT, Contender, Direct, Mitmdump, Mode, Place, Rerail, RunFailed
from bench.peer import Peer, PeerMissing

Scheme = Literal["http", "https"]
Kind = TypeVar("Kind")
SCHEMES: Final[tuple[Scheme, ...]] = ("http", "https")
PEER_FOLDER: Final = ROOT / ".bench" / "mitmproxy"


class OriginGone(Exception):
    """The origin has ended: nothing more can be measured."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Rounds of each measurement, and the seconds of a phase within a round."""

    start_rounds: int
    call_rounds: int
    latency_seconds: float
    load_seconds: float
    stream_rounds: int
    large_rounds: int = 1


FULL: Final = Plan(12, 4, 1.0, 2.0, 3)
QUICK: Final = Plan(5, 1, 0.5, 1.0, 1)


@dataclass
class Arena:
    """The place, the ways to run a command in it, and what could not be done and why."""

    place: Place
    origin: "subprocess.Popen[str]"
    ports: dict[str, int]
    plan: Plan
    rerail: Rerail
    peer: Mitmdump | None
    peer_version: str | None
    notes: list[str] = field(default_factory=list)
    choose: random.Random = field(default_factory=random.Random)

    @property
    def contenders(self) -> list[Contender]:
        """All that can be measured here."""
        proxies: list[Contender] = [self.rerail, *([self.peer] if self.peer else [])]
        return [Direct(self.place), *proxies]

    def url(self, scheme: Scheme) -> str:
        """The origin's address."""
        return f"{scheme}://localhost:{self.ports[scheme]}"

    def origin_requests(self) -> int:
        """How many model calls the origin has answered so far. Raises OriginGone."""
        if (status := self.origin.poll()) is not None:
            raise OriginGone(f"the origin has ended with status {status}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url("http") + "/count", timeout=10) as reply:
            count = json.load(reply)["requests"]
        assert isinstance(count, int)
        return count

    def shuffled(self, kinds: Sequence[Kind]) -> list[tuple[Kind, Contender]]:
        """Every kind with every contender, in random order."""
        runs = [(kind, contender) for kind in kinds for contender in self.contenders]
        self.choose.shuffle(runs)
        return runs

    def note(self, text: str) -> None:
        """Keep and show what a reader of the table has to know."""
        if text not in self.notes:
            self.notes.append(text)
            progress(f"note: {text}")


class Contest:
    """One measurement. Who fails once in a mode is out of that mode, and the notes say why."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._out: set[tuple[str, Mode]] = set()

    def run(
        self, contender: Contender, command: list[str], mode: Mode, key: str
    ) -> Findings | None:
        """Run a command; None where the contender is out.

        A replay that asks the origin anything is no replay.
        """
        if (contender.name, mode) in self._out:
            return None
        before = self._arena.origin_requests()
        try:
            findings = contender.run(command, mode, key)
            asked = self._arena.origin_requests() - before
            if mode == "replaying" and asked and contender.name != "direct":
                raise RunFailed(f"{asked} requests of a replay reached the origin")
        except (RunFailed, OSError) as error:
            # Whatever failed because the origin is gone is not the contender's fault.
            self._arena.origin_requests()
            self._out.add((contender.name, mode))
            self._arena.note(f"{contender.name} is left out of {mode} ({key}): {error}")
            return None
        return findings


@contextmanager
def arena(plan: Plan) -> Iterator[Arena]:
    """Everything set up, and taken down again at the end; the peer is installed if need be."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rerail-bench-")))
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        origin, ports = stack.enter_context(_origin(folder))
        place = Place(folder, folder / "origin-ca.pem")
        peer, version, reason = _peer(place)
        made = Arena(place, origin, ports, plan, Rerail(place), peer, version)
        if reason:
            made.note(f"the peer (mitmproxy) is skipped: {reason}")
        yield made


def _peer(place: Place) -> tuple[Mitmdump | None, str | None, str]:
    try:
        installed = Peer.install(PEER_FOLDER)
    except PeerMissing as missing:
        return None, None, str(missing)
    return Mitmdump(place, installed), installed.version, ""


@contextmanager
def _origin(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, int]]]:
    """The origin, which ends when its standard input closes, even if the bench is killed."""
    command = [sys.executable, "-m", "bench.origin", str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        ports: dict[str, int] = json.loads(process.stdout.readline())
        yield process, ports


def room_for(folder: Path, size: int) -> bool:
    """Whether so many bytes can be written here."""
    return shutil.disk_usage(folder).free >= size


def progress(text: str) -> None:
    """Say on standard error what is going on."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
