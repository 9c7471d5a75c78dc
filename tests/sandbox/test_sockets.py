"""The socket filter, decided call by call on a small machine that runs it as the kernel would."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.sandbox.sockets import ARCHITECTURES, MSG_FASTOPEN, Architecture, here, program

X86 = ARCHITECTURES["x86_64"]
I386_AUDIT = 0x40000003
ALLOWED, REFUSED = 0x7FFF0000, 0x0005000D


def verdict(machine: Architecture, number: int, *arguments: int, audit: int = 0) -> int:
    """What the filter returns for a call."""
    words = (*arguments, *[0] * (6 - len(arguments)))
    call = struct.pack("<IIQ6Q", number, audit or machine.audit, 0, *words)
    encoded = program(machine)
    word, at = 0, 0
    while True:
        code, when, _, value = struct.unpack_from("=HBBI", encoded, at * 8)
        at += 1
        if code == 0x20:
            word = struct.unpack_from("<I", call, value)[0]
        elif code == 0x54:
            word &= value
        elif code == 0x06:
            return value
        else:
            holds = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
            at += when if holds else 0


@pytest.fixture(params=sorted(ARCHITECTURES))
def machine(request: pytest.FixtureRequest) -> Architecture:
    """Each architecture whose numbers are known."""
    return ARCHITECTURES[request.param]


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
    machine: Architecture, family: int, kind: int, protocol: int
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
    machine: Architecture, family: int, kind: int, protocol: int
) -> None:
    assert verdict(machine, machine.socket, family, kind, protocol) == REFUSED


def test_fast_open_is_refused_in_all_three_calls(machine: Architecture) -> None:
    assert verdict(machine, machine.sendto, 3, 0, 1, MSG_FASTOPEN) == REFUSED
    assert verdict(machine, machine.sendmsg, 3, 0, MSG_FASTOPEN) == REFUSED
    assert verdict(machine, machine.sendmmsg, 3, 0, 1, MSG_FASTOPEN | 0x4000) == REFUSED
    assert verdict(machine, machine.sendto, 3, 0, 1, 0x4000) == ALLOWED
    assert verdict(machine, machine.sendmsg, 3, MSG_FASTOPEN, 0x4000) == ALLOWED


def test_sockets_cannot_be_made_through_io_uring(machine: Architecture) -> None:
    assert verdict(machine, 425) == REFUSED
    assert verdict(machine, 425, audit=I386_AUDIT) == REFUSED


def test_programs_of_32_bits_get_no_sockets() -> None:
    assert verdict(X86, 102, audit=I386_AUDIT) == REFUSED
    assert verdict(X86, 359, audit=I386_AUDIT) == REFUSED
    assert verdict(X86, 4, audit=I386_AUDIT) == ALLOWED


def test_the_x32_numbers_are_no_way_around() -> None:
    assert verdict(X86, 0x40000000 | 41, 2, 2, 0) == REFUSED


@given(st.integers(0, 0x3FFFFFFF), st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_no_other_call_is_touched(number: int, arguments: list[int]) -> None:
    if number not in (X86.socket, X86.sendto, X86.sendmsg, X86.sendmmsg, 425):
        assert verdict(X86, number, *arguments) == ALLOWED


def test_the_architecture_is_the_machines_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert here() == ARCHITECTURES["aarch64"]
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    assert here() is None
