"""A gibibyte down and a gibibyte up, recorded and replayed in bounded memory."""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import head, routes, sink
from tests.journeys.agents.noise import noise
from tests.journeys.rail import Rail, Ran, Running

pytestmark = [pytest.mark.journey, pytest.mark.timeout(240)]

HOST = "large.example.com"
SIZE = 1 << 30
MEMORY_LIMIT_MIB = 150


def download(connection: Connection, request: Request) -> None:
    request.read()
    connection.send(head(200, [("Content-Length", str(SIZE))]))
    for block in noise(SIZE):
        connection.send(block)


@pytest.fixture(scope="module")
def digest() -> str:
    made = hashlib.sha256()
    for block in noise(SIZE):
        made.update(block)
    return made.hexdigest()


@pytest.mark.parametrize("way", ["down", "up"])
def test_a_gibibyte_recorded_and_replayed(
    rail: Rail, start_origin: Callable[..., Origin], digest: str, way: str
) -> None:
    if shutil.disk_usage(rail.folder).free < 3 * SIZE:
        pytest.skip("there is not enough room on this disk")
    origin = start_origin(routes({"/down": download, "/up": sink}), keep=0)
    rail.resolve(HOST, origin)
    agent = rail.python("large_agent.py", way, f"http://{HOST}/{way}", str(SIZE))
    recorded = watched(rail.start_recording(*agent), f"recording 1 GiB {way}")
    assert recorded.status == 0, recorded.said
    told = json.loads(recorded.text) if way == "up" else {"sha256": recorded.text.strip()}
    assert told["sha256"] == digest
    rail.stop_origins()
    replayed = watched(rail.start(*rail.rerail("replay", "run.tape")), f"replaying 1 GiB {way}")
    assert replayed.status == 0, replayed.said
    assert replayed.output == recorded.output
    (rail.folder / "run.tape").unlink()


def watched(running: Running, what: str) -> Ran:
    """The end of a recorder or player; says what it needed and checks the memory."""
    started, most = time.monotonic(), 0
    while running.process.poll() is None:
        status = Path(f"/proc/{running.pid}/status").read_text()
        if found := re.search(r"VmHWM:\s*(\d+) kB", status):
            most = max(most, int(found[1]) >> 10)
        time.sleep(0.02)
    print(f"{what}: {most} MiB of memory, {time.monotonic() - started:.1f} s")
    assert most < MEMORY_LIMIT_MIB
    return running.end()
