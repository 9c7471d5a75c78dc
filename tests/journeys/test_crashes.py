"""The recorder or the agent killed in the middle of a stream, at random moments: what is left."""

import contextlib
import itertools
import os
import random
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from rerail.sandbox.passing import program_of
from rerail.tape.exchange import exchanges
from rerail.tape.reader import Tape
from rerail.tape.seal import verify
from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import chunk, head, serve
from tests.journeys.rail import Rail, Running

pytestmark = pytest.mark.journey

HOST = "stream.example.com"
SEED = 20260211
AT_ONCE = 4
LONGEST_SECONDS = 0.6
Start = Callable[..., Origin]


@dataclass
class Stream:
    """What an origin sent to one recording, and when."""

    sent: list[tuple[float, bytes]] = field(default_factory=list)

    def when(self, size: int) -> float:
        """When so many bytes had been sent."""
        for at, piece in self.sent:
            if size < len(piece):
                return at
            size -= len(piece)
        return at

    @property
    def whole(self) -> bytes:
        return b"".join(piece for _, piece in self.sent)


class Streams:
    """An origin's behaviour: random chunks without an end, a stream for each path."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}

    def __getitem__(self, name: str) -> Stream:
        return self._streams.setdefault(f"/{name}", Stream())

    def reply(self, connection: Connection, request: Request) -> None:
        stream = self._streams.setdefault(request.path, Stream())
        kind = ("Content-Type", "text/event-stream")
        connection.send(head(200, [kind, ("Transfer-Encoding", "chunked")]))
        for number in itertools.count():
            piece = f"data: {number} {secrets.token_hex(40)}\n\n".encode()
            connection.send(chunk(piece))
            stream.sent.append((time.monotonic(), piece))
            connection.pause(0.003)


@pytest.fixture
def streams(rail: Rail, start_origin: Start, authority: CertificateAuthority) -> Streams:
    made = Streams()
    rail.resolve(HOST, start_origin(serve(made.reply), tls=authority.leaf(HOST)))
    rail.resolve(HOST, start_origin(serve(made.reply)))
    return made


def wait_until(condition: Callable[[], object], what: str, *, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.005)


def moments(count: int) -> Iterator[tuple[str, str, float]]:
    """A name, a scheme, and the seconds after the stream's first byte at which to kill."""
    chance = random.Random(SEED)
    for number in range(count):
        scheme = "https" if number % 2 else "http"
        yield f"{number:02}", scheme, chance.uniform(0, LONGEST_SECONDS)


def begin(rail: Rail, streams: Streams, name: str, scheme: str, after: float) -> Running:
    """Start a recording of a stream, and come back at the moment to kill."""
    fetch = f"curl -sSN -o {name}.body {scheme}://{HOST}/{name}; echo $? > {name}.status"
    running = rail.start_recording("sh", "-c", fetch, tape=f"{name}.tape")
    wait_until(lambda: streams[name].sent, f"stream {name} never began")
    time.sleep(after)
    return running


def test_the_recorder_killed_at_fifty_moments(
    rail: Rail, streams: Streams, need: Callable[[str], str]
) -> None:
    need("curl")

    def kill_one(moment: tuple[str, str, float]) -> float:
        name, scheme, after = moment
        running = begin(rail, streams, name, scheme, after)
        path = rail.folder / f"{name}.tape"
        committed = Committed.on(path)
        killed = time.monotonic()
        running.process.kill()
        running.process.wait()
        # The agent is not left hanging: its connection ends, and it says so.
        status = rail.folder / f"{name}.status"
        wait_until(lambda: status.exists() and status.read_text(), f"agent {name} hangs")
        assert int(status.read_text()) in (18, 52, 56)
        return look_at_what_is_left(path, streams[name], committed, killed)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        lost = sorted(pool.map(kill_one, moments(50)))
    print(f"lost: the last {lost[25]:.0f} ms of a stream (median), {lost[-1]:.0f} ms at most")
    shown = rail.run(*rail.rerail("show", "00.tape"))
    assert shown.status == 0
    assert "lost: its recorder died" in shown.text


@dataclass(frozen=True)
class Committed:
    """What was on a tape that was being written, as a reader saw it."""

    events: tuple[bytes, ...]
    content: bytes

    @classmethod
    def on(cls, path: Path) -> Self:
        with Tape.open(path) as tape:
            assert tape.state == "live"
            events = tuple(stored for _, stored in tape.stored_events())
            return cls(events, b"".join(body.content() for body in tape.unfinished()))


def look_at_what_is_left(path: Path, stream: Stream, before: Committed, killed: float) -> float:
    """All that was committed is there; gives for how many ms before the kill nothing is."""
    with Tape.open(path) as tape:
        assert tape.state == "lost"
        found = verify(tape)
        assert found.intact, found
        events = tuple(stored for _, stored in tape.stored_events())
        assert events[: len(before.events)] == before.events
        content = b""
        for body in tape.unfinished():
            content = body.content()
            assert sum(piece.size for piece in body.chunks) == len(content)
    assert content.startswith(before.content)
    assert stream.whole.startswith(content)
    return 1e3 * (killed - stream.when(len(content)))


def test_the_agent_killed_at_twenty_moments(
    rail: Rail, streams: Streams, need: Callable[[str], str]
) -> None:
    need("curl")

    def kill_one(moment: tuple[str, str, float]) -> None:
        name, scheme, after = moment
        url = f"{scheme}://{HOST}/{name}"
        running = rail.start_recording("curl", "-sSN", "-o", "/dev/null", url, tape=f"{name}.tape")
        wait_until(lambda: streams[name].sent, f"stream {name} never began")
        time.sleep(after)
        (agent,) = (pid for pid in children_of(running.pid) if program_of(pid) == "curl")
        os.kill(agent, signal.SIGKILL)
        assert running.end().status == 137
        with Tape.open(rail.folder / f"{name}.tape") as tape:
            assert tape.state == "finished"
            assert tape.ended is not None and tape.ended.signal == signal.SIGKILL
        look_at_the_partial_reply(rail, name, streams[name])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(kill_one, moments(20)))


def look_at_the_partial_reply(rail: Rail, name: str, stream: Stream) -> None:
    with Tape.open(rail.folder / f"{name}.tape") as tape:
        (exchange,) = exchanges(tape)
        assert exchange.reply_body is not None
        assert exchange.reply_body.ended == "agent_closed"
        body = exchange.reply_body.body
        content = tape.blob(body.digest) if body else b""
    assert stream.whole.startswith(content)


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, task.read_text().split())
    return found
