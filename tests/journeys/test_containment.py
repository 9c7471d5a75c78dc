"""A replayed command reaches the recording and nothing else."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.testing.origin import HOLD, Origin
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

HOST = "api.example.com"
WAYS = (
    "loopback", "loopback 6", "another machine", "datagram", "name", "unix socket",
    "abstract unix socket",
)  # fmt: skip


@pytest.fixture
def unix_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Somebody who listens on a path, as a container engine does, and on an abstract name."""
    path = tmp_path_factory.mktemp("s") / "engine.sock"
    with contextlib.ExitStack() as stack:
        for address in (str(path), f"\0{path}"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(address)
            listener.listen()
        yield path


def test_every_way_out_is_closed_in_a_replay(
    rail: Rail,
    start_playground: Callable[..., Origin],
    start_origin: Callable[..., Origin],
    unix_socket: Path,
) -> None:
    rail.resolve(HOST, start_playground(HOST))
    listener = start_origin([HOLD])
    trapped = rail.python(
        "trapped.py", str(listener.port), str(unix_socket), f"https://{HOST}/page"
    )
    recorded = rail.record(*trapped)
    assert "\nloopback open\n" in recorded.text and "\nunix socket open\n" in recorded.text
    reached = listener.connections
    rail.stop_origins()
    replayed = rail.replay(recorded.tape)
    if replayed.report["containment"]["level"] == "not contained":
        pytest.skip("no sandbox can be entered here")
    lines = replayed.text.splitlines()
    assert lines[0] == recorded.text.splitlines()[0]
    assert lines[1:] == [f"{way} closed" for way in WAYS]
    assert listener.connections == reached
    assert rail.reached == 0
    assert replayed.green


def test_a_replayed_command_still_has_a_loopback_of_its_own(
    rail: Rail, start_playground: Callable[..., Origin]
) -> None:
    """Agents start local servers and talk to them; those talks are no part of the network."""
    rail.resolve(HOST, start_playground(HOST))
    recorded = rail.there_and_back(*rail.python("own_server.py", f"https://{HOST}/page"))
    assert "served" in recorded.text
