"""Inside a network namespace: nothing but the recorder, and otherwise everything as it was."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.launch.child import Ending, start
from rerail.launch.errand import run_errand
from rerail.sandbox import choose, network
from rerail.sandbox.handshake import Handshake, SandboxFailed
from rerail.sandbox.network import NetworkNamespace

Run = Callable[..., tuple[Ending, str]]

pytestmark = pytest.mark.skipif(
    choose.refusal(NetworkNamespace()) is not None,
    reason="this machine allows no network namespace",
)

ASKS = """
import socket, sys
for kind, host, port in (word.split(",") for word in sys.argv[1:]):
    try:
        if kind == "name":
            socket.getaddrinfo(host, int(port))
        elif kind == "udp":
            socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", (host, int(port)))
        else:
            peer = socket.create_connection((host, int(port)), 5)
            print(peer.recv(100).decode())
            continue
        print("reached")
    except OSError as error:
        print(type(error).__name__, error.errno)
"""


def test_the_recorder_is_reached_at_the_port_it_was_promised(run: Run, python: str) -> None:
    ending, text = run(NetworkNamespace(), python, "-c", ASKS, "tcp,127.0.0.1,41234")
    assert (ending.status, text) == (0, "from the recorder\n")


def test_a_server_of_this_machine_is_not_reached(run: Run, python: str, neighbour: int) -> None:
    _, text = run(NetworkNamespace(), python, "-c", ASKS, f"tcp,127.0.0.1,{neighbour}")
    assert text.startswith("ConnectionRefusedError")


@pytest.mark.parametrize(
    "what", ["tcp,192.0.2.1,443", "udp,192.0.2.1,53", "name,example.com,443", "tcp,10.0.0.1,80"]
)
def test_neither_tcp_nor_udp_nor_names_lead_out(run: Run, python: str, what: str) -> None:
    _, text = run(NetworkNamespace(), python, "-c", ASKS, what)
    assert "reached" not in text
    assert text.split()[0] in {"OSError", "gaierror"}


def test_an_abstract_unix_socket_of_this_machine_is_not_reached(run: Run, python: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0rerail-test-neighbour")
        server.listen()
        program = "import socket; socket.socket(1).connect('\\0rerail-test-neighbour')"
        ending, text = run(NetworkNamespace(), python, "-c", program)
    assert ending.status == 1
    assert "ConnectionRefusedError" in text


def test_a_server_of_the_commands_own_is_reached(run: Run, python: str) -> None:
    program = """
import socket
server = socket.create_server(("127.0.0.1", 0))
with socket.create_connection(server.getsockname()) as peer:
    server.accept()[0].sendall(b"from myself")
    print(peer.recv(100).decode())
"""
    assert run(NetworkNamespace(), python, "-c", program) == (Ending(0), "from myself\n")


def test_the_command_is_who_it_was_and_has_no_new_rights(run: Run) -> None:
    script = "id -u; id -g; touch made; stat -c %u:%g made; grep CapEff /proc/self/status"
    ending, text = run(NetworkNamespace(), "sh", "-c", script)
    uid, gid, owner, _, capabilities = text.split()
    assert ending.status == 0
    assert owner == f"{uid}:{gid}"
    if int(uid) != 0:
        assert int(capabilities, 16) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="what root may do")
def test_root_can_still_give_files_away(tmp_path: Path) -> None:
    command = ["sh", "-c", "touch made && chown 1234:1235 made"]
    environment = dict(os.environ)
    with start(
        command, cwd=tmp_path, environment=environment, sandbox=NetworkNamespace(), ports=[1]
    ) as child:
        assert child.wait() == Ending(0)
        for listener in child.listeners:
            listener.close()
    found = (tmp_path / "made").stat()
    assert (found.st_uid, found.st_gid) == (1234, 1235)


@pytest.mark.skipif(os.geteuid() != 0, reason="what root may do")
def test_root_cannot_go_back_to_the_machines_network(run: Run, python: str, neighbour: int) -> None:
    program = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
try:
    fd = os.open("/proc/{os.getpid()}/ns/net", os.O_RDONLY)
    print("setns", libc.setns(fd, 0))
except OSError as error:
    print("refused", error.errno)
"""
    _, text = run(NetworkNamespace(), python, "-c", program)
    assert text.split()[0] == "refused" or text == "setns -1\n"


def test_there_is_a_listener_for_each_port_and_none_is_inherited_by_what_we_start_next(
    tmp_path: Path,
) -> None:
    with start(
        ["true"], cwd=tmp_path, environment={"PATH": "/bin:/usr/bin"},
        sandbox=NetworkNamespace(), ports=[4321, 8080],
    ) as child:  # fmt: skip
        child.wait()
        for listener, port in zip(child.listeners, [4321, 8080], strict=True):
            with listener:
                assert listener.getsockname() == ("127.0.0.1", port)
                assert not listener.get_inheritable()
                assert not listener.getblocking()


def test_nobody_need_listen_in_it(tmp_path: Path) -> None:
    words = ["sh", "-c", "read line < /proc/net/tcp; exit 0"]
    errand = run_errand(words, cwd=tmp_path, environment={}, seconds=20, sandbox=NetworkNamespace())
    assert errand.well


def test_every_port_is_free_in_a_new_namespace(tmp_path: Path, neighbour: int) -> None:
    with start(
        ["true"], cwd=tmp_path, environment={"PATH": "/bin:/usr/bin"},
        sandbox=NetworkNamespace(), ports=[neighbour],
    ) as child:  # fmt: skip
        child.wait()
        for listener in child.listeners:
            listener.close()


def test_users_that_cannot_be_named_are_an_error_of_the_sandbox(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(pid: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(network, "_map_users", refuse)
    with pytest.raises(SandboxFailed, match="cannot name the users"):
        start(
            ["true"], cwd=tmp_path, environment={"PATH": "/bin:/usr/bin"},
            sandbox=NetworkNamespace(), ports=[1],
        )  # fmt: skip


def test_a_refused_namespace_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(flags: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(network.kernel, "unshare", refuse)
    said = choose.refusal(NetworkNamespace())
    assert said is not None
    assert said.what == "cannot make a user and network namespace: Operation not permitted (EPERM)"


def test_a_child_that_dies_before_it_begins_is_noticed() -> None:
    ours, theirs = Handshake.pair()
    theirs.close()
    with pytest.raises(SandboxFailed, match="ended before it began"):
        NetworkNamespace().admit(ours, 1, [1])
    ours.close()


def test_a_filter_that_is_refused_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(instructions: bytes, machine: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(network.seccomp, "install_supervised", refuse)
    said = choose.refusal(NetworkNamespace())
    assert said is not None
    assert (
        said.what == "cannot have connections to paths looked at: Operation not permitted (EPERM)"
    )
