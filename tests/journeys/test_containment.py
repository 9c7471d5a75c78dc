"""A replayed command reaches the recording and nothing else."""

import contextlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.testing.origin import HOLD, Origin
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

PYTHON = Path(sys.executable).name
HOST = "api.example.com"
WAYS = (
    "loopback", "loopback 6", "another machine", "datagram", "name", "unix socket",
    "abstract unix socket", "raw socket", "curl",
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
    # What children said would else be given back, and nothing tried.
    recorded = rail.record(*trapped, options=["--no-children"])
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
    if "unix socket filter" in replayed.report["containment"]["missing"]:
        pytest.skip("what is refused cannot be told here")
    tried = {(one["what"], one["target"]) for one in replayed.report["attempts"]}
    assert {
        ("tcp", f"127.0.0.1:{listener.port}"),
        ("tcp", "192.0.2.1:443"),
        ("name lookup", "192.0.2.1:53"),
        ("unix socket", str(unix_socket)),
        ("raw socket", "AF_INET"),
    } <= tried
    assert f"  refused: {PYTHON} to 127.0.0.1:{listener.port}\n" in replayed.said
    curl = [one for one in replayed.report["attempts"] if one["program"] == "curl"]
    assert [one["target"] for one in curl] == [f"127.0.0.1:{listener.port}"]


def test_a_write_to_the_home_folder_is_refused_and_told(
    rail: Rail, start_playground: Callable[..., Origin]
) -> None:
    rail.resolve(HOST, start_playground(HOST))
    home = Path(tempfile.mkdtemp(dir="/var/lib" if os.access("/var/lib", os.W_OK) else None))
    (home / "kept").write_text("kept\n")
    try:
        homesick = rail.python("homesick.py", str(home), f"https://{HOST}/page")
        recorded = rail.record(*homesick, options=["--no-children"])
        assert recorded.text.splitlines()[1:] == [
            f"{way} open" for way in ("here", "temporary", "home", "shell")
        ]
        rail.stop_origins()
        (home / "made-at-home").unlink()
        (home / "kept").write_text("kept\n")
        replayed = rail.replay(recorded.tape)
        if "write rules" in replayed.report["containment"]["missing"]:
            pytest.skip("nothing keeps a replay from writing here")
        assert replayed.text.splitlines()[1:] == [
            "here open", "temporary open", "home closed", "shell closed",
        ]  # fmt: skip
        assert not (home / "made-at-home").exists()
        assert (home / "kept").read_text() == "kept\n"
        writes = {
            (one["target"], one["program"])
            for one in replayed.report["attempts"] if one["what"] == "write"
        }  # fmt: skip
        assert {(f"{home}/made-at-home", PYTHON), (f"{home}/kept", "sh")} <= writes
        assert replayed.report["containment"]["level"] == "contained"
    finally:
        shutil.rmtree(home)


def test_a_replayed_command_still_has_a_loopback_of_its_own(
    rail: Rail, start_playground: Callable[..., Origin]
) -> None:
    """Agents start local servers and talk to them; those talks are no part of the network."""
    rail.resolve(HOST, start_playground(HOST))
    recorded = rail.there_and_back(*rail.python("own_server.py", f"https://{HOST}/page"))
    assert "served" in recorded.text
