"""Filters are handed to the kernel whole; an older kernel gets the flags it knows."""

import ctypes
import errno

import pytest

from rerail.sandbox import kernel, seccomp
from rerail.sandbox.bpf import ALLOW, Program
from rerail.sandbox.machine import ARCHITECTURES

MACHINE = ARCHITECTURES["x86_64"]


def everything_allowed() -> bytes:
    program = Program()
    program.end(ALLOW)
    return program.encode()


def test_an_older_kernel_is_asked_again_without_what_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flags: list[object] = []

    def answer(number: int, *arguments: object) -> int:
        flags.append(arguments[1])
        if len(flags) == 1:
            raise OSError(errno.EINVAL, "Invalid argument")
        return 7

    monkeypatch.setattr(kernel, "syscall", answer)
    assert seccomp.install_supervised(everything_allowed(), MACHINE) == 7
    assert flags == [(1 << 3) | (1 << 2) | (1 << 5), (1 << 3) | (1 << 2)]


def test_a_refusal_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int, *arguments: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(kernel, "syscall", refuse)
    with pytest.raises(PermissionError):
        seccomp.install_supervised(everything_allowed(), MACHINE)


def test_the_kernel_is_given_the_length_and_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, bytes]] = []

    def look(option: int, *arguments: object) -> int:
        if option == kernel.PR_SET_SECCOMP:
            address = arguments[1]
            assert isinstance(address, ctypes.c_void_p)
            assert address.value is not None
            length = ctypes.c_ushort.from_address(address.value).value
            place = ctypes.c_void_p.from_address(address.value + 8).value
            assert place is not None
            seen.append((length, ctypes.string_at(place, 8 * length)))
        return 0

    monkeypatch.setattr(kernel, "prctl", look)
    seccomp.install(everything_allowed())
    assert seen == [(1, everything_allowed())]
