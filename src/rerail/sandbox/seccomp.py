"""Putting a process under a filter program (seccomp(2)), with a supervisor's descriptor or without.

Knows no programs and takes no decisions.
"""

import ctypes
import errno
import struct
from contextlib import suppress
from typing import Final

from rerail.sandbox import kernel
from rerail.sandbox.bpf import ASK
from rerail.sandbox.machine import Architecture

_MODE_FILTER: Final = 2
_SET_MODE_FILTER: Final = 1
_NEW_LISTENER: Final = 1 << 3
_NO_SLOWER: Final = 1 << 2
"""SECCOMP_FILTER_FLAG_SPEC_ALLOW: before Linux 5.16 a filter would slow the process down."""

_WAIT_KILLABLE: Final = 1 << 5
_GET_ACTION_AVAIL: Final = 2


def install(instructions: bytes) -> None:
    """Put this process and all it starts under the program. Raises OSError.

    Without privilege that needs no_new_privs, which it sets: sudo will not work below.
    """
    program = _Program(instructions)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, program.address)


def install_supervised(instructions: bytes, machine: Architecture) -> int:
    """The same, for a program that asks; returns the descriptor by which a supervisor is asked.

    The process has to have privilege in its user namespace, as one has that made it. A call that
    waits is not interrupted by signals where the kernel can do that (5.19). Raises OSError.
    """
    program = _Program(instructions)
    try:
        flags = _NEW_LISTENER | _NO_SLOWER | _WAIT_KILLABLE
        return kernel.syscall(machine.seccomp, _SET_MODE_FILTER, flags, program.address)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return kernel.syscall(
        machine.seccomp, _SET_MODE_FILTER, _NEW_LISTENER | _NO_SLOWER, program.address
    )


def install_asking(instructions: bytes, machine: Architecture) -> int:
    """The same outside a namespace, for this thread: with no_new_privs where privilege is lacking.

    Raises OSError.
    """
    with suppress(PermissionError):
        return install_supervised(instructions, machine)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    return install_supervised(instructions, machine)


def can_ask(machine: Architecture) -> bool:
    """Whether this kernel has programs that ask (Linux 5.0)."""
    action = ctypes.c_uint32(ASK)
    try:
        address = ctypes.c_void_p(ctypes.addressof(action))
        kernel.syscall(machine.seccomp, _GET_ACTION_AVAIL, 0, address)
    except OSError:
        return False
    return True


class _Program:
    """struct sock_fprog in memory, for as long as this lives."""

    def __init__(self, instructions: bytes) -> None:
        self._kept = ctypes.create_string_buffer(instructions, len(instructions))
        # The number of instructions, and where they are, aligned like a pointer.
        header = struct.pack("@HP", len(instructions) // 8, ctypes.addressof(self._kept))
        self._header = ctypes.create_string_buffer(header, len(header))
        self.address = ctypes.c_void_p(ctypes.addressof(self._header))
