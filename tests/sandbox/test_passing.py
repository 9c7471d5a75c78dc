"""Which connections pass the recorder by, and what is said of them."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.sandbox import lookout, passing
from rerail.sandbox.machine import ARCHITECTURES, X32_CALLS, Architecture
from rerail.sandbox.passing import Address, internet_address

X86 = ARCHITECTURES["x86_64"]
I386_AUDIT = 0x40000003
ALLOWED, ASKED = 0x7FFF0000, 0x7FC00000
RunFilter = Callable[..., int]


@pytest.mark.parametrize("machine", ARCHITECTURES.values(), ids=list(ARCHITECTURES))
@pytest.mark.parametrize(
    ("size", "verdict"), [(16, ASKED), (28, ASKED), (128, ASKED), (110, ALLOWED)]
)
def test_only_connections_to_internet_addresses_wait(
    run_filter: RunFilter, machine: Architecture, size: int, verdict: int
) -> None:
    filter_ = lookout.program(machine)
    assert run_filter(filter_, machine.audit, machine.connect, 3, 0, size) == verdict
    assert run_filter(filter_, machine.audit, machine.sendto, 3, 0, size) == ALLOWED
    if machine.foreign_connect:
        foreign = run_filter(filter_, I386_AUDIT, machine.foreign_connect, 3, 0, size)
        assert foreign == verdict


def test_the_x32_numbers_wait_too(run_filter: RunFilter) -> None:
    filter_ = lookout.program(X86)
    assert run_filter(filter_, X86.audit, X32_CALLS | X86.connect, 3, 0, 16) == ASKED


@pytest.mark.parametrize(
    ("address", "text", "is_here"),
    [
        (b"\x02\x00\x01\xbb\xc0\x00\x02\x01" + bytes(8), "192.0.2.1:443", False),
        (b"\x02\x00\x1f\x90\x7f\x01\x02\x03" + bytes(8), "127.1.2.3:8080", True),
        (b"\x02\x00\x1f\x90\x00\x00\x00\x00" + bytes(8), "0.0.0.0:8080", True),
        (b"\x0a\x00\x1f\x90" + bytes(4) + bytes(15) + b"\x01" + bytes(4), "[::1]:8080", True),
        (b"\x0a\x00\x01\xbb" + bytes(4) + b"\x20\x01" + bytes(18), "[2001::]:443", False),
        (
            b"\x0a\x00\x01\xbb" + bytes(4) + bytes(10) + b"\xff\xff\xc0\x00\x02\x01" + bytes(4),
            "192.0.2.1:443",
            False,
        ),
    ],
)  # fmt: skip
def test_an_address_is_read_as_the_kernel_reads_it(
    address: bytes, text: str, is_here: bool
) -> None:
    found = internet_address(address)
    assert found is not None
    assert (str(found), found.is_here) == (text, is_here)


@given(st.binary(max_size=128))
def test_no_address_is_too_odd_to_be_read(address: bytes) -> None:
    found = internet_address(address)
    assert found is None or str(found)


def test_a_datagram_socket_is_none_of_tcp() -> None:
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        assert passing.is_stream(os.getpid(), tcp.fileno())
        assert not passing.is_stream(os.getpid(), udp.fileno())


def test_what_cannot_be_asked_is_not_known() -> None:
    assert passing.is_stream(os.getpid(), 99999) is None
    assert passing.is_stream(2**22 + 1, 3) is None


def test_where_sockets_cannot_be_asked_the_kernels_tables_tell() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as tcp:
            assert passing._is_tcp(os.getpid(), tcp.fileno())
        with socket.socket(type=socket.SOCK_DGRAM) as udp:
            udp.connect(server.getsockname())
            assert not passing._is_tcp(os.getpid(), udp.fileno())
    assert not passing._is_tcp(os.getpid(), 99999)


def test_a_program_has_the_name_of_its_file() -> None:
    words = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert passing.program_of(child.pid) == Path(sys.executable).name
        child.kill()
    assert passing.program_of(2**22 + 1) == "?"


def test_a_port_of_this_machine_is_inside_where_the_run_listens_on_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = Address(b"\x7f\0\0\1", server.getsockname()[1])
        assert passing.way_of(os.getpid(), here, lambda: [os.getpid()]) == "inside the run"
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
            assert passing.way_of(other.pid, here, list) == "passed by"
            assert passing.way_of(other.pid, here, lambda: [os.getpid()]) == "inside the run"
            other.kill()
        six = Address(bytes(15) + b"\1", here.port)
        assert passing.way_of(os.getpid(), six, lambda: [os.getpid()]) is None
    assert passing.way_of(os.getpid(), here, lambda: [os.getpid()]) is None


def test_another_machine_is_never_inside() -> None:
    there = Address(b"\xc0\0\2\1", 443)
    assert passing.way_of(os.getpid(), there, lambda: [os.getpid()]) == "passed by"
