"""Where no namespace can be made: rules on ports and on kinds of sockets."""

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.launch.child import Ending, start
from rerail.sandbox import landlock, machine, ports
from rerail.sandbox.levels import (
    NETWORK_NAMESPACE,
    SOCKET_FILTER,
    TCP_RULES,
    UNIX_SOCKET_FILTER,
    Refused,
)
from rerail.sandbox.ports import PortRules
from rerail.sandbox.view import View
from tests.sandbox.conftest import NOBODY, as_nobody

Run = Callable[..., tuple[Ending, str]]

EVERYTHING_HERE = landlock.version() >= landlock.TCP_SINCE and machine.here() is not None
needs_both = pytest.mark.skipif(not EVERYTHING_HERE, reason="no Landlock for TCP, or no filter")

ASKS = """
import socket, sys
with socket.socket() as peer:
    peer.settimeout(20)
    print(peer.connect_ex(("127.0.0.1", int(sys.argv[1]))))
"""

OPENS = """
import socket
for family, kind, protocol in (
    (2, 1, 0), (10, 1, 6), (1, 1, 0), (16, 3, 0),  # TCP twice, unix, netlink
    (2, 2, 0), (10, 2, 0), (2, 3, 1), (2, 1, 262), (17, 3, 0), (40, 1, 0),
):
    try:
        socket.socket(family, kind, protocol).close()
        print("made", end=" ")
    except OSError as error:
        print(error.errno, end=" ")
with socket.socket() as tcp:
    try:
        tcp.sendto(b"x", 0x20000000, ("127.0.0.1", 1))
    except OSError as error:
        print("fastopen", error.errno)
"""


def rules() -> PortRules:
    return PortRules(why_no_namespace="a test")


@needs_both
def test_only_the_recorders_port_is_reached(run: Run, python: str, neighbour: int) -> None:
    allowed = run(rules(), python, "-c", ASKS, str(neighbour), port=neighbour)
    refused = run(rules(), python, "-c", ASKS, str(neighbour), port=1)
    assert allowed == (Ending(0), "0\n")
    assert refused == (Ending(0), f"{errno.EACCES}\n")


@needs_both
def test_only_tcp_and_local_sockets_can_be_made(run: Run, python: str) -> None:
    _, text = run(rules(), python, "-c", OPENS)
    assert text.split() == [*["made"] * 4, *["13"] * 6, "fastopen", "13"]


@needs_both
def test_both_layers_together_count_as_no_network() -> None:
    containment = rules().containment
    assert containment.layers == (TCP_RULES, SOCKET_FILTER, UNIX_SOCKET_FILTER)
    assert containment.level == "no network"
    assert containment.missing[0].layer == NETWORK_NAMESPACE
    assert containment.missing[0].why == "a test"


@pytest.mark.parametrize(
    ("version", "why"), [(0, "no Landlock here"), (3, r"Landlock 3 is too old \(Linux 6\.7\)")]
)
def test_an_old_kernel_is_not_contained_and_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch, version: int, why: str
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: version)
    containment = rules().containment
    assert containment.level == "not contained"
    gap = next(gap for gap in containment.missing if gap.layer == TCP_RULES)
    assert why.replace("\\", "") == gap.why


def test_an_unknown_architecture_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports.machine, "here", lambda: None)
    containment = rules().containment
    assert SOCKET_FILTER not in containment.layers
    assert containment.level == "not contained"


def test_a_system_without_these_calls_has_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert rules().containment.layers == ()


@needs_both
def test_with_rules_for_writing_a_command_is_contained() -> None:
    sandbox = PortRules(View.of(writable=[]), why_no_namespace="a test")
    assert sandbox.containment.level == "contained"
    assert PortRules(
        View.of(writable=[]), why_no_namespace="", unwatched="no"
    ).containment.level == ("no network")


WRITES = """
import os, socket, sys
home, work = sys.argv[1:]
os.makedirs(f"{work}/a"); os.makedirs(f"{work}/b")
open(f"{work}/a/x", "w").write("x"); os.rename(f"{work}/a/x", f"{work}/b/x")
open("/dev/null", "w").write("x"); open("/proc/self/comm", "w").write("x")
for way in (
    lambda: open(f"{home}/new", "w"), lambda: os.mkdir(f"{home}/folder"),
    lambda: os.rename(f"{work}/b/x", f"{home}/x"), lambda: os.remove(f"{home}/kept"),
    lambda: os.truncate(f"{home}/kept", 0),
    lambda: socket.socket().connect(("192.0.2.1", 443)),
    lambda: socket.socket(type=socket.SOCK_DGRAM),
    lambda: socket.socket(socket.AF_UNIX).connect(f"{home}/engine"),
):
    try:
        way()
    except OSError:
        continue
    raise SystemExit("it worked")
own = socket.socket(socket.AF_UNIX); own.bind(f"{work}/own"); own.listen()
socket.socket(socket.AF_UNIX).connect(f"{work}/own")
socket.create_connection(("127.0.0.1", 41234), 5)
"""


@needs_both
@pytest.mark.parametrize("user", ["ourselves", "nobody"])
def test_what_is_refused_is_told_without_a_namespace(python: str, user: str) -> None:
    if user == "nobody" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    home = Path(tempfile.mkdtemp(dir="/var/tmp"))
    work = home / "work"
    work.mkdir()
    (home / "kept").write_text("kept")
    with socket.socket(socket.AF_UNIX) as engine, socket.socket() as recorder:
        engine.bind(str(home / "engine"))
        engine.listen()
        recorder.bind(("127.0.0.1", 0))
        recorder.listen()
        port = recorder.getsockname()[1]
        program = WRITES.replace("41234", str(port))

        def task() -> tuple[Ending, tuple[Refused, ...]]:
            sandbox = PortRules(View.of(writable=[work]), why_no_namespace="a test")
            words = [python, "-c", program, str(home), str(work)]
            with start(
                words, cwd=work, environment={"PATH": os.defpath}, sandbox=sandbox, ports=[port]
            ) as child:
                return child.wait(), sandbox.refused

        if user == "nobody":
            for path in (home, work, home / "kept", home / "engine"):
                os.chown(path, NOBODY, NOBODY)
        ending, refused = as_nobody(task) if user == "nobody" else task()
    shutil.rmtree(home)
    assert ending == Ending(0)
    assert [(one.what, one.target) for one in refused] == [
        ("write", f"{home}/new"),
        ("write", f"{home}/folder"),
        ("write", f"{home}/x"),
        ("write", f"{home}/kept"),
        ("tcp", "192.0.2.1:443"),
        ("udp", "AF_INET"),
        ("unix socket", f"{home}/engine"),
    ]
