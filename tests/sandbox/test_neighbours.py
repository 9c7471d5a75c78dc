"""Which connections lead to a service of this machine: the filter asks, the answer is computed."""

import os
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.sandbox.machine import ARCHITECTURES, Architecture
from rerail.sandbox.neighbours import made_inside, path_in, program

X86 = ARCHITECTURES["x86_64"]
I386_AUDIT = 0x40000003
ALLOWED, ASKED, ABSENT, REFUSED = 0x7FFF0000, 0x7FC00000, 0x00050026, 0x0005000D
Verdict = Callable[..., int]


@pytest.fixture(params=sorted(ARCHITECTURES))
def machine(request: pytest.FixtureRequest) -> Architecture:
    """Each architecture whose numbers are known."""
    return ARCHITECTURES[request.param]


@pytest.fixture
def verdict(run_filter: Callable[..., int]) -> Verdict:
    """`verdict(machine, number, *arguments)` is what the filter says to a call."""

    def decide(machine: Architecture, number: int, *arguments: int, audit: int = 0) -> int:
        return run_filter(program(machine), audit or machine.audit, number, *arguments)

    return decide


def test_connections_and_datagrams_with_an_address_are_asked_about(
    verdict: Verdict, machine: Architecture
) -> None:
    assert verdict(machine, machine.connect, 3, 0x7FFD0000, 16) == ASKED
    assert verdict(machine, machine.sendto, 3, 0, 0, 0, 0x7FFD0000, 16) == ASKED
    assert verdict(machine, machine.sendto, 3, 0, 0, 0, 0x7FFD00000000, 16) == ASKED
    assert verdict(machine, machine.sendto, 3, 0, 0, 0, 0, 0) == ALLOWED


def test_sockets_that_know_no_namespaces_are_refused(
    verdict: Verdict, machine: Architecture
) -> None:
    assert verdict(machine, machine.socket, 40, 1, 0) == REFUSED
    for family in (1, 2, 10, 16):
        assert verdict(machine, machine.socket, family, 2, 0) == ALLOWED


def test_messages_and_raw_sockets_are_asked_about(verdict: Verdict, machine: Architecture) -> None:
    for number in (machine.sendmsg, machine.sendmmsg):
        assert verdict(machine, number, 3, 0x7FFD0000, 0) == ASKED
    for family, kind in ((2, 3), (10, 3 | 0o2000000), (17, 3), (17, 2)):
        assert verdict(machine, machine.socket, family, kind, 0) == ASKED
    for family in (1, 16):
        assert verdict(machine, machine.socket, family, 3, 0) == ALLOWED


def test_calls_that_may_change_files_are_asked_about_where_that_is_wanted(
    run_filter: Callable[..., int], machine: Architecture
) -> None:
    files, folder = machine.files, 2**32 - 100
    with_writes = program(machine, writes=True)
    for name, number in files.items():
        assert run_filter(program(machine), machine.audit, number, 0, 0, 0x42) == ALLOWED
        if name not in ("open", "openat"):
            assert run_filter(with_writes, machine.audit, number, 0, 0, 0) == ASKED
    for flags, wanted in (
        (0, ALLOWED),
        (1, ASKED),
        (2, ASKED),
        (0o100, ASKED),
        (0o2000000, ALLOWED),
    ):
        asked = run_filter(with_writes, machine.audit, files["openat"], folder, 8, flags)
        assert asked == wanted


def test_io_uring_is_not_there(verdict: Verdict, machine: Architecture) -> None:
    assert verdict(machine, 425) == ABSENT
    assert verdict(machine, 425, audit=I386_AUDIT) == ABSENT


def test_programs_of_32_bits_are_asked_about_too(verdict: Verdict) -> None:
    assert verdict(X86, 362, 3, 0x1000, 16, audit=I386_AUDIT) == ASKED
    assert verdict(X86, 369, 3, 0, 0, 0, 0x1000, 16, audit=I386_AUDIT) == ASKED
    assert verdict(X86, 102, 3, 0x1000, audit=I386_AUDIT) == ASKED
    assert verdict(X86, 102, 1, 0x1000, audit=I386_AUDIT) == ALLOWED


def test_the_x32_numbers_are_not_there(verdict: Verdict) -> None:
    assert verdict(X86, 0x40000000 | 42) == ABSENT


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (struct.pack("=H", 1) + b"/run/docker.sock\0", "/run/docker.sock"),
        (struct.pack("=H", 1) + b"relative", "relative"),
        (struct.pack("=H", 1) + b"\0abstract", None),
        (struct.pack("=H", 1), None),
        (struct.pack("=HHI", 2, 443, 1), None),
        (b"", None),
        (b"\x01", None),
    ],
)
def test_only_a_path_is_a_path(address: bytes, path: str | None) -> None:
    assert path_in(address) == path


@given(st.binary(max_size=110))
def test_no_address_is_too_odd_to_be_read(address: bytes) -> None:
    path = path_in(address)
    assert path is None or (path and "\0" not in path)


@pytest.fixture
def bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with sockets of this process: one by its full name, one by a relative name."""
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as relative:
        full.bind(str(tmp_path / "full name"))
        relative.bind("relative")
        yield tmp_path


@pytest.mark.parametrize("name", ["full name", "relative"])
def test_a_socket_of_this_namespace_is_inside(bound: Path, name: str) -> None:
    assert made_inside(os.getpid(), name)
    assert made_inside(os.getpid(), str(bound / name))


def test_a_file_that_no_socket_here_is_bound_to_is_outside(bound: Path) -> None:
    (bound / "other").touch()
    assert not made_inside(os.getpid(), str(bound / "other"))


def test_a_path_with_nothing_at_it_is_left_to_the_kernel(bound: Path) -> None:
    assert made_inside(os.getpid(), str(bound / "nothing"))
