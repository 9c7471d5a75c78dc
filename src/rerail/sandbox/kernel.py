"""The system calls that Python has no name for, by ctypes. Linux only; imported when needed.

A call from here is safe between fork and exec: everything it needs was loaded with this module.
"""

import ctypes
import os
import platform
from typing import Final

CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000

PR_SET_NO_NEW_PRIVS: Final = 38
PR_SET_SECCOMP: Final = 22

# From 424 on the numbers are the same on every architecture (asm-generic/unistd.h).
LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_ADD_RULE: Final = 445
LANDLOCK_RESTRICT_SELF: Final = 446

_libc = ctypes.CDLL(None, use_errno=True)


def is_linux() -> bool:
    """Whether these calls exist here at all."""
    return platform.system() == "Linux"


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def unshare(flags: int) -> None:
    """unshare(2). Raises OSError."""
    _checked(_libc.unshare(flags))


def prctl(option: int, *arguments: "int | ctypes.c_void_p") -> int:
    """prctl(2), missing arguments as 0. Raises OSError."""
    words = [arg if isinstance(arg, ctypes.c_void_p) else ctypes.c_ulong(arg) for arg in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    return _checked(_libc.prctl(option, *words))


def syscall(number: int, *arguments: "int | ctypes.c_void_p | None") -> int:
    """syscall(2) with integers and pointers. Raises OSError."""
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *words))
