"""The filter's verdicts, call by call, on every architecture; what they stop is in `test_plane`."""

import errno
import socket
from collections.abc import Callable

import pytest

from rerail.sandbox import aside
from rerail.sandbox.bpf import ALLOW, refuse
from rerail.sandbox.machine import ARCHITECTURES, Architecture

EPERM = refuse(errno.EPERM)
GARBAGE = 0xFFFF_FFFF << 32
"""What may stand above the half that the kernel takes."""

Verdict = Callable[..., int]


@pytest.fixture(params=ARCHITECTURES)
def machine(request: pytest.FixtureRequest) -> Architecture:
    return ARCHITECTURES[request.param]


@pytest.fixture
def verdict(machine: Architecture, run_filter: Callable[..., int]) -> Verdict:
    """`verdict(name, *arguments)`."""
    program = aside.program(machine)
    numbers = {**machine.calls, **machine.files, "socket": machine.socket}
    return lambda name, *words: run_filter(program, machine.audit, numbers[name], *words)


def test_what_is_refused_is_so_whatever_it_says(verdict: Verdict) -> None:
    assert {verdict(name, 0, 1, 2) for name in aside.REFUSED} == {EPERM}
    assert verdict("clone3", 0, 88) == refuse(errno.ENOSYS)


@pytest.mark.parametrize(
    "name",
    ["prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"],
)
def test_a_process_is_changed_by_itself_alone(verdict: Verdict, name: str) -> None:
    assert [verdict(name, who) for who in (0, GARBAGE)] == [ALLOW, ALLOW]
    assert [verdict(name, who) for who in (1, GARBAGE | 1)] == [EPERM, EPERM]


@pytest.mark.parametrize(("name", "process"), [("setpriority", 0), ("ioprio_set", 1)])
def test_so_are_its_priorities(verdict: Verdict, name: str, process: int) -> None:
    assert verdict(name, process, 0, 5) == ALLOW
    assert verdict(name, process, GARBAGE, 5) == ALLOW
    assert verdict(name, process, 7, 5) == EPERM
    assert {verdict(name, kind, 0, 5) for kind in range(4) if kind != process} == {EPERM}


def test_namespaces_are_refused_and_threads_are_not(verdict: Verdict) -> None:
    assert {verdict("clone", 1 << bit | 17) for bit in (17, 25, 26, 27, 28, 29, 30)} == {EPERM}
    assert {verdict("unshare", 1 << bit) for bit in (7, 17, 25, 26, 27, 28, 29, 30)} == {EPERM}
    assert verdict("clone", 0x3D0F00) == ALLOW  # what pthread_create(3) asks for
    assert verdict("unshare", 0x400) == ALLOW


def test_only_terminals_are_not_typed_into(verdict: Verdict) -> None:
    assert {verdict("ioctl", 0, word) for word in (0x5412, GARBAGE | 0x5412, 0x541C)} == {EPERM}
    assert {verdict("ioctl", 0x5412, word) for word in (0x5401, 0x5413, 0x5414)} == {ALLOW}


@pytest.mark.parametrize("call", ["socket", "socketpair"])
def test_local_sockets_are_connected_ones(verdict: Verdict, call: str) -> None:
    kept = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    assert {verdict(call, 1, kind) for kind in kept} == {ALLOW}
    other = (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    assert {verdict(call, 1, kind) for kind in other} == {refuse(errno.EACCES)}
    assert verdict(call, 2, socket.SOCK_DGRAM) == ALLOW  # of which `sockets` decides


def test_a_call_of_another_architecture_is_refused(
    machine: Architecture, run_filter: Callable[..., int]
) -> None:
    program = aside.program(machine)
    assert run_filter(program, 0x40000003, 20) == EPERM
    x32 = run_filter(program, machine.audit, 0x40000000 + 39)
    assert x32 == (EPERM if machine.has_x32 else ALLOW)


def test_all_else_goes_on(verdict: Verdict) -> None:
    assert {verdict(name, 0, 0) for name in ("openat", "mkdirat", "listen")} == {ALLOW}
