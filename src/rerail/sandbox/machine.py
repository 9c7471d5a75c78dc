"""The numbers by which each architecture calls the same things: data, and which one is here."""

import platform
from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class Architecture(Struct, frozen=True):
    """An architecture's name in seccomp_data (linux/audit.h) and its call numbers.

    The `foreign` ones are those of its 32-bit programs: how they make a socket, connect it, send
    from it; `foreign_multiplexer` is i386's socketcall(2). 0 stands for none. `files` are those of
    its calls that may change files, `calls` the others that are looked at by name.
    """

    audit: int
    socket: int
    connect: int
    sendto: int
    sendmsg: int
    sendmmsg: int
    seccomp: int
    pivot_root: int
    files: Mapping[str, int]
    calls: Mapping[str, int]
    foreign_socket: int = 0
    foreign_connect: int = 0
    foreign_sendto: int = 0
    foreign_multiplexer: int = 0
    has_x32: bool = False


_FILES_OF_X86: Final = {
    "open": 2,
    "truncate": 76,
    "rename": 82,
    "mkdir": 83,
    "rmdir": 84,
    "creat": 85,
    "link": 86,
    "unlink": 87,
    "symlink": 88,
    "openat": 257,
    "mkdirat": 258,
    "unlinkat": 263,
    "renameat": 264,
    "linkat": 265,
    "symlinkat": 266,
    "renameat2": 316,
    "openat2": 437,
}
_FILES_OF_OTHERS: Final = {
    "mkdirat": 34,
    "unlinkat": 35,
    "symlinkat": 36,
    "linkat": 37,
    "truncate": 45,
    "openat": 56,
    "renameat2": 276,
    "openat2": 437,
}
"""What asm-generic/unistd.h has for every architecture that came later."""

_CALLS: Final = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clone": (56, 220),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fremovexattr": (199, 16),
    "fsetxattr": (190, 7),
    "ioctl": (16, 29),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "listen": (50, 201),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "prlimit64": (302, 261),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "removexattr": (197, 14),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "setxattr": (188, 5),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "shmget": (29, 194),
    "socketpair": (53, 199),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utimensat": (280, 88),
}
"""On x86_64, and on those that came later."""

_CALLS_OF_ALL: Final = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "process_mrelease": 448,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
}
_CALLS_OF_X86: Final = {
    **{name: own for name, (own, _) in _CALLS.items()},
    **_CALLS_OF_ALL,
    "chmod": 90,
    "chown": 92,
    "lchown": 94,
    "utime": 132,
    "utimes": 235,
    "futimesat": 261,
}
_CALLS_OF_OTHERS: Final = {name: own for name, (_, own) in _CALLS.items()} | _CALLS_OF_ALL

ARCHITECTURES: Final = {
    "x86_64": Architecture(
        audit=0xC000003E,
        socket=41,
        connect=42,
        sendto=44,
        sendmsg=46,
        sendmmsg=307,
        seccomp=317,
        pivot_root=155,
        files=_FILES_OF_X86,
        calls=_CALLS_OF_X86,
        foreign_socket=359,
        foreign_connect=362,
        foreign_sendto=369,
        foreign_multiplexer=102,
        has_x32=True,
    ),
    "aarch64": Architecture(
        audit=0xC00000B7,
        socket=198,
        connect=203,
        sendto=206,
        sendmsg=211,
        sendmmsg=269,
        seccomp=277,
        pivot_root=41,
        files={**_FILES_OF_OTHERS, "renameat": 38},
        calls=_CALLS_OF_OTHERS,
        foreign_socket=281,
        foreign_connect=283,
        foreign_sendto=290,
    ),
    "riscv64": Architecture(
        audit=0xC00000F3,
        socket=198,
        connect=203,
        sendto=206,
        sendmsg=211,
        sendmmsg=269,
        seccomp=277,
        pivot_root=41,
        files=_FILES_OF_OTHERS,
        calls=_CALLS_OF_OTHERS,
    ),
}

IO_URING_SETUP: Final = 425
"""From 424 on the numbers are the same on every architecture (asm-generic/unistd.h)."""

X32_CALLS: Final = 0x40000000
"""Numbers from here on are those of the x32 variant of x86_64."""


def here() -> Architecture | None:
    """This machine's architecture, None where its numbers are not known."""
    return ARCHITECTURES.get(platform.machine()) if platform.system() == "Linux" else None
