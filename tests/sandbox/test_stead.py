"""Calls made in another's stead: on what was held, wherever a path leads by then."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.sandbox import kernel, stead
from rerail.sandbox.bpf import ALLOW, ASK
from rerail.sandbox.machine import ARCHITECTURES, Architecture
from rerail.sandbox.notify import Call

pytestmark = pytest.mark.skipif(not kernel.is_linux(), reason="no /proc on this machine")


def call(*arguments: int) -> Call:
    return Call(os.getpid(), 0, 0, (*arguments, *[0] * (6 - len(arguments))))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """own/file, outside."""
    (tmp_path / "own").mkdir()
    for file in (tmp_path / "own" / "file", tmp_path / "outside"):
        file.write_text("x")
        file.chmod(0o600)
    return tmp_path


def test_what_was_held_is_changed_though_the_path_leads_elsewhere_by_now(place: Path) -> None:
    own, outside = place / "own", place / "outside"
    with (own / "file").open() as file:
        asked = call(file.fileno(), 0o640)
        with stead.object_of(asked, "fchmod") as held:
            (own / "file").rename(own / "moved")
            os.dup2(os.open(outside, os.O_RDONLY), file.fileno())
            stead.do(asked, "fchmod", held, [str(own)])
    assert (own / "moved").stat().st_mode & 0o777 == 0o640
    assert outside.stat().st_mode & 0o777 == 0o600


def test_what_is_outside_is_named_and_not_changed(place: Path) -> None:
    with (place / "outside").open() as file:
        asked = call(file.fileno(), 0o777)
        with (
            stead.object_of(asked, "fchmod") as held,
            pytest.raises(stead.NotIts, match=str(place / "outside")),
        ):
            stead.do(asked, "fchmod", held, [str(place / "own"), str(place / "out")])
    assert (place / "outside").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("family", "listens"), [("AF_UNIX", True), ("AF_INET", False)])
def test_only_a_local_socket_listens(
    family: str, listens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(getattr(socket, family)) as server:
        monkeypatch.setattr(kernel, "copy_of", lambda _, descriptor: os.dup(descriptor))
        if family == "AF_UNIX":
            server.bind("")
        asked = call(server.fileno(), (1 << 32) - 1)
        with stead.object_of(asked, "listen") as held:
            if listens:
                stead.do(asked, "listen", held, [])
            else:
                with pytest.raises(PermissionError):
                    stead.do(asked, "listen", held, [])
        accepts = server.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    assert bool(accepts) is listens


def test_an_owner_is_what_it_was(place: Path) -> None:
    with (place / "outside").open() as file:
        mine, nobody = (place / "outside").stat().st_uid, (1 << 32) - 1
        for user, fails in ((mine, False), (nobody, False), (mine + 1, True)):
            asked = call(file.fileno(), user, nobody)
            with stead.object_of(asked, "fchown") as held:
                if not fails:
                    stead.do(asked, "fchown", held, [])
                    continue
                with pytest.raises(PermissionError) as refused:
                    stead.do(asked, "fchown", held, [])
                assert refused.value.errno == errno.EPERM


@pytest.mark.parametrize("machine", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_with_a_network_connections_and_attributes_are_asked_about(
    machine: Architecture, run_filter: Callable[..., int]
) -> None:
    program = stead.program(machine)
    numbers = stead.numbers(machine)
    asked = [machine.connect, *(numbers[name] for name in numbers if name != "listen")]
    assert {run_filter(program, machine.audit, number) for number in asked} == {ASK}
    others = (numbers["listen"], machine.socket, machine.sendmsg, machine.seccomp)
    assert {run_filter(program, machine.audit, number) for number in others} == {ALLOW}
    assert run_filter(program, 0x40000003, machine.connect) == ALLOW
