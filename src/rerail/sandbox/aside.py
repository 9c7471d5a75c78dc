"""A seccomp filter that leaves a process itself and its own: no other process, no kernel's objects.

It makes up for what Landlock has no right for: others' limits and priorities, typing into a
terminal, names that all processes share, namespaces, and parts of the kernel that a program has no
need of. Nothing is asked. A program for the kernel; `seccomp` puts a process under it.
"""

import errno
import socket
from typing import Final

from rerail.sandbox.bpf import ALLOW, ARCHITECTURE, NUMBER, Program, argument, refuse
from rerail.sandbox.machine import X32_CALLS, Architecture
from rerail.sandbox.sockets import AF_UNIX, SOCK_TYPE_MASK

_OF_ANOTHER: Final = (
    "kcmp",
    "migrate_pages",
    "move_pages",
    "pidfd_getfd",
    "process_madvise",
    "process_mrelease",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
)
_SHARED_BY_NAME: Final = (
    *("add_key", "keyctl", "request_key", "mq_open", "mq_unlink"),
    *("msgctl", "msgget", "msgrcv", "msgsnd"),
    *("semctl", "semget", "semop", "semtimedop"),
    *("shmat", "shmctl", "shmdt", "shmget"),
)
_OF_THE_KERNEL: Final = (
    *("bpf", "perf_event_open", "userfaultfd"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("chroot", "mount", "umount2", "setns", "open_by_handle_at", "open_tree", "move_mount"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
)
REFUSED: Final = (*_OF_ANOTHER, *_SHARED_BY_NAME, *_OF_THE_KERNEL)
"""Whatever their arguments are."""

UNSUPPORTED: Final = (
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr"),
)
"""Attributes of files, as where a file system has none: Landlock would allow them anywhere."""

_OF_A_PROCESS: Final = (
    "prlimit64",
    "sched_setaffinity",
    "sched_setattr",
    "sched_setparam",
    "sched_setscheduler",
)
"""Their first argument is a process, 0 the caller."""

_KINDS: Final = {"setpriority": 0, "ioprio_set": 1}
"""Their first argument is a kind (this one is a process; others are groups and users), then who."""

_NAMESPACES: Final = 0x7E020000
_TIME_NAMESPACE: Final = 0x80
"""CLONE_NEW…; in clone(2) the last one is part of a signal's number."""

_TYPING: Final = (0x5412, 0x541C, 0x541D)
"""TIOCSTI, TIOCLINUX, by which a terminal's next command is written, and TIOCCONS."""

_FLAGGING: Final = (0x40086602, 0x40087602, 0x401C5820)
"""FS_IOC_SETFLAGS, FS_IOC_SETVERSION and FS_IOC_FSSETXATTR, as chattr(1) has them."""


def program(machine: Architecture) -> bytes:
    """The filter for this architecture. Calls of its 32-bit programs are all refused.

    The kernel takes a process, a kind or a command as 32 bits, so the lower half decides.
    """
    filter_, calls = Program(), machine.calls
    filter_.load(ARCHITECTURE)
    filter_.when_equal(machine.audit, "native")
    filter_.end(refuse(errno.EPERM))
    filter_.label("native")
    filter_.load(NUMBER)
    if machine.has_x32:
        filter_.when_at_least(X32_CALLS, "refused")
    for name in REFUSED:
        filter_.when_equal(calls[name], "refused")
    for name in UNSUPPORTED:
        filter_.when_equal(calls[name], "unsupported")
    for name in (*_OF_A_PROCESS, *_KINDS, "clone", "unshare", "ioctl"):
        filter_.when_equal(calls[name], "whose" if name in _OF_A_PROCESS else name)
    filter_.when_equal(machine.pivot_root, "refused")
    for number in (machine.socket, calls["socketpair"]):
        filter_.when_equal(number, "socket")
    filter_.when_equal(calls["clone3"], "absent")
    filter_.end(ALLOW)
    _add_details(filter_)
    return filter_.encode()


def _add_details(filter_: Program) -> None:
    for name, kind in _KINDS.items():
        filter_.label(name)
        filter_.load(argument(0))
        filter_.when_equal(kind, f"who of {name}")
        filter_.end(refuse(errno.EPERM))
        filter_.label(f"who of {name}")
        filter_.load(argument(1))
        filter_.when_equal(0, "allowed")
        filter_.end(refuse(errno.EPERM))
    filter_.label("whose")
    filter_.load(argument(0))
    filter_.when_equal(0, "allowed")
    filter_.end(refuse(errno.EPERM))
    filter_.label("unshare")
    filter_.load(argument(0))
    filter_.when_any_bit(_TIME_NAMESPACE, "refused")
    filter_.label("clone")
    filter_.load(argument(0))
    filter_.when_any_bit(_NAMESPACES, "refused")
    filter_.end(ALLOW)
    filter_.label("ioctl")
    filter_.load(argument(1))
    for command in _TYPING:
        filter_.when_equal(command, "refused")
    for command in _FLAGGING:
        filter_.when_equal(command, "unsupported")
    filter_.end(ALLOW)
    _add_local_sockets(filter_)
    filter_.label("unsupported")
    filter_.end(refuse(errno.EOPNOTSUPP))
    filter_.label("absent")
    # Its flags are in memory, where a filter does not look; then clone(2) is taken.
    filter_.end(refuse(errno.ENOSYS))
    filter_.label("refused")
    filter_.end(refuse(errno.EPERM))


def _add_local_sockets(filter_: Program) -> None:
    """A datagram of a local socket names its receiver, even one of a pair: none are made.

    The others are connected first, which is looked at.
    """
    filter_.label("socket")
    filter_.load(argument(0))
    filter_.when_equal(AF_UNIX, "kind")
    filter_.end(ALLOW)
    filter_.label("kind")
    filter_.load(argument(1))
    filter_.mask(SOCK_TYPE_MASK)
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        filter_.when_equal(kind, "allowed")
    filter_.end(refuse(errno.EACCES))
    filter_.label("allowed")
    filter_.end(ALLOW)
