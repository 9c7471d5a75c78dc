"""The system calls that Python has no name for, by ctypes. Linux only; imported when needed.

A call from here is safe between fork and exec: everything it needs was loaded with this module.
"""

import ctypes
import os
import platform
import struct
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000

MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MNT_DETACH: Final = 2
MOUNT_ATTR_RDONLY: Final = 1
AT_RECURSIVE: Final = 0x8000
_AT_FDCWD: Final = -100
_OPEN_TREE_CLONE: Final = 1
_FROM_THE_DESCRIPTOR: Final = 4

PR_CAPBSET_DROP: Final = 24
CAP_SYS_ADMIN: Final = 21
PR_SET_NO_NEW_PRIVS: Final = 38
PR_SET_SECCOMP: Final = 22

# From 424 on the numbers are the same on every architecture (asm-generic/unistd.h).
OPEN_TREE: Final = 428
MOVE_MOUNT: Final = 429
PIDFD_GETFD: Final = 438
MOUNT_SETATTR: Final = 442
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


def _text(word: str) -> ctypes.c_char_p:
    return ctypes.c_char_p(os.fsencode(word))


def unshare(flags: int) -> None:
    """unshare(2). Raises OSError."""
    _checked(_libc.unshare(flags))


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2). Raises OSError."""
    words = [os.fsencode(word) for word in (source, target, kind)]
    _checked(_libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(options)))


def unmount(target: str) -> None:
    """umount2(2): out of sight at once, gone when nothing uses it. Raises OSError."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH))


def copy_tree(path: str) -> int:
    """open_tree(2): a copy of what is mounted at and below a path, seen nowhere yet (Linux 5.2).

    Returns its descriptor. Raises OSError.
    """
    flags = _OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    return syscall(OPEN_TREE, _AT_FDCWD, _text(path), flags)


def attach_tree(descriptor: int, target: str) -> None:
    """move_mount(2): have such a copy seen at a path. Raises OSError."""
    empty = _text("")
    syscall(MOVE_MOUNT, descriptor, empty, _AT_FDCWD, _text(target), _FROM_THE_DESCRIPTOR)


def pivot_root(number: int, new: str, put_old: str) -> None:
    """pivot_root(2), which has a number of its own on each machine. Raises OSError."""
    syscall(number, _text(new), _text(put_old))


def set_read_only(path: str, read_only: bool, *, below_too: bool = True) -> None:
    """mount_setattr(2) on the mount at `path` and those below it (Linux 5.12). Raises OSError."""
    wanted = (MOUNT_ATTR_RDONLY, 0) if read_only else (0, MOUNT_ATTR_RDONLY)
    attributes = struct.pack("=4Q", *wanted, 0, 0)
    kept = ctypes.create_string_buffer(attributes, len(attributes))
    place = ctypes.c_void_p(ctypes.addressof(kept))
    flags = AT_RECURSIVE if below_too else 0
    syscall(MOUNT_SETATTR, _AT_FDCWD, _text(path), flags, place, len(attributes))


def copy_of(pid: int, descriptor: int) -> int:
    """A copy of an open file of process `pid` (pidfd_getfd(2), Linux 5.6). Raises OSError."""
    process = os.pidfd_open(pid)
    try:
        return syscall(PIDFD_GETFD, process, descriptor, 0)
    finally:
        os.close(process)


def prctl(option: int, *arguments: "int | ctypes.c_void_p") -> int:
    """prctl(2), missing arguments as 0. Raises OSError."""
    words = [arg if isinstance(arg, ctypes.c_void_p) else ctypes.c_ulong(arg) for arg in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    return _checked(_libc.prctl(option, *words))


def syscall(number: int, *arguments: "int | ctypes.c_void_p | ctypes.c_char_p | None") -> int:
    """syscall(2) with integers and pointers. Raises OSError."""
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *words))
