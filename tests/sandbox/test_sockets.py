"""The socket filter, decided call by call on a small machine that runs it as the kernel would."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.sandbox.machine import ARCHITECTURES, Architecture
from rerail.sandbox.sockets import MSG_FASTOPEN, program

X86 = ARCHITECTURES["x86_64"]
I386_AUDIT = 0x40000003
ALLOWED, REFUSED = 0x7FFF0000, 0x0005000D


Verdict = Callable[..., int]


@pytest.fixture(params=sorted(ARCHITECTURES))
def machine(request: pytest.FixtureRequest) -> Architecture:
    """Each architecture whose numbers are known."""
    return ARCHITECTURES[request.param]


@pytest.fixture(scope="session")
def verdict(run_filter: Callable[..., int]) -> Verdict:
    """`verdict(machine, number, *arguments)` is what the filter says to a call."""

    def decide(machine: Architecture, number: int, *arguments: int, audit: int = 0) -> int:
        return run_filter(program(machine), audit or machine.audit, number, *arguments)

    return decide


@pytest.mark.parametrize(
    ("family", "kind", "protocol"),
    [
        (2, 1, 0),
        (2, 1, 6),
        (10, 1, 0),
        (2, 1 | 0o4000 | 0o2000000, 0),
        (1, 1, 0),
        (1, 2, 0),
        (16, 3, 0),
    ],
)
def test_tcp_and_local_sockets_are_allowed(
    verdict: Verdict, machine: Architecture, family: int, kind: int, protocol: int
) -> None:
    assert verdict(machine, machine.socket, family, kind, protocol) == ALLOWED


@pytest.mark.parametrize(
    ("family", "kind", "protocol"),
    [
        (2, 2, 0),  # UDP
        (10, 2 | 0o4000, 17),  # UDP over IPv6, non-blocking
        (2, 3, 1),  # raw ICMP
        (2, 2, 1),  # ping
        (2, 1, 262),  # MPTCP
        (2, 1, 132),  # SCTP
        (17, 3, 0),  # packets
        (40, 1, 0),  # vsock
        (31, 1, 3),  # Bluetooth
    ],
)
def test_every_other_socket_is_refused(
    verdict: Verdict, machine: Architecture, family: int, kind: int, protocol: int
) -> None:
    assert verdict(machine, machine.socket, family, kind, protocol) == REFUSED


def test_fast_open_is_refused_in_all_three_calls(verdict: Verdict, machine: Architecture) -> None:
    assert verdict(machine, machine.sendto, 3, 0, 1, MSG_FASTOPEN) == REFUSED
    assert verdict(machine, machine.sendmsg, 3, 0, MSG_FASTOPEN) == REFUSED
    assert verdict(machine, machine.sendmmsg, 3, 0, 1, MSG_FASTOPEN | 0x4000) == REFUSED
    assert verdict(machine, machine.sendto, 3, 0, 1, 0x4000) == ALLOWED
    assert verdict(machine, machine.sendmsg, 3, MSG_FASTOPEN, 0x4000) == ALLOWED


def test_sockets_cannot_be_made_through_io_uring(verdict: Verdict, machine: Architecture) -> None:
    assert verdict(machine, 425) == REFUSED
    assert verdict(machine, 425, audit=I386_AUDIT) == REFUSED


def test_programs_of_32_bits_get_no_sockets(verdict: Verdict) -> None:
    assert verdict(X86, 102, audit=I386_AUDIT) == REFUSED
    assert verdict(X86, 359, audit=I386_AUDIT) == REFUSED
    assert verdict(X86, 4, audit=I386_AUDIT) == ALLOWED


def test_the_x32_numbers_are_no_way_around(verdict: Verdict) -> None:
    assert verdict(X86, 0x40000000 | 41, 2, 2, 0) == REFUSED


@given(number=st.integers(0, 0x3FFFFFFF), arguments=st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_no_other_call_is_touched(verdict: Verdict, number: int, arguments: list[int]) -> None:
    if number not in (X86.socket, X86.sendto, X86.sendmsg, X86.sendmmsg, 425):
        assert verdict(X86, number, *arguments) == ALLOWED
