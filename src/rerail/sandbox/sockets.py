"""A seccomp filter that leaves a process no sockets but TCP and local ones.

It makes up for what Landlock's TCP rules do not see: UDP, raw and MPTCP sockets, TCP Fast Open,
sockets made through io_uring, and families like vsock. Cannot look at addresses.
"""

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass
from typing import Final

from rerail.sandbox import kernel
from rerail.sandbox.bpf import ALLOW, ARCHITECTURE, NUMBER, Program, argument, refuse

AF_UNIX: Final = 1
AF_INET: Final = 2
AF_INET6: Final = 10
AF_NETLINK: Final = 16
SOCK_STREAM: Final = 1
SOCK_TYPE_MASK: Final = 0xF
IPPROTO_TCP: Final = 6
MSG_FASTOPEN: Final = 0x20000000

IO_URING_SETUP: Final = 425
X32_CALLS: Final = 0x40000000


@dataclass(frozen=True, slots=True)
class Architecture:
    """An architecture's name in seccomp_data, its call numbers, and those of its 32-bit programs.

    `foreign` are the calls by which a 32-bit program makes a socket.
    """

    audit: int
    socket: int
    sendto: int
    sendmsg: int
    sendmmsg: int
    foreign: tuple[int, ...]
    has_x32: bool = False


ARCHITECTURES: Final = {
    "x86_64": Architecture(0xC000003E, 41, 44, 46, 307, foreign=(102, 359), has_x32=True),
    "aarch64": Architecture(0xC00000B7, 198, 206, 211, 269, foreign=(281,)),
    "riscv64": Architecture(0xC00000F3, 198, 206, 211, 269, foreign=()),
}


def here() -> Architecture | None:
    """This machine's architecture, None where its call numbers are not known."""
    return ARCHITECTURES.get(platform.machine())


def program(machine: Architecture) -> bytes:
    """The filter for this architecture."""
    filter_ = Program()
    filter_.load(ARCHITECTURE)
    filter_.when_equal(machine.audit, "native")
    filter_.load(NUMBER)
    for number in (*machine.foreign, IO_URING_SETUP):
        filter_.when_equal(number, "refused")
    filter_.end(ALLOW)
    filter_.label("native")
    filter_.load(NUMBER)
    if machine.has_x32:
        filter_.when_at_least(X32_CALLS, "refused")
    filter_.when_equal(machine.socket, "socket")
    filter_.when_equal(IO_URING_SETUP, "refused")
    flags_at = {machine.sendto: 3, machine.sendmsg: 2, machine.sendmmsg: 3}
    for number, index in flags_at.items():
        filter_.when_equal(number, f"flags {index}")
    filter_.end(ALLOW)
    for index in sorted(set(flags_at.values())):
        filter_.label(f"flags {index}")
        filter_.load(argument(index))
        filter_.when_any_bit(MSG_FASTOPEN, "refused")
        filter_.end(ALLOW)
    _add_socket_rules(filter_)
    filter_.label("refused")
    filter_.end(refuse(errno.EACCES))
    return filter_.encode()


def _add_socket_rules(filter_: Program) -> None:
    filter_.label("socket")
    filter_.load(argument(0))
    for family in (AF_UNIX, AF_NETLINK):
        filter_.when_equal(family, "allowed")
    for family in (AF_INET, AF_INET6):
        filter_.when_equal(family, "type")
    filter_.end(refuse(errno.EACCES))
    filter_.label("type")
    filter_.load(argument(1))
    filter_.mask(SOCK_TYPE_MASK)
    filter_.when_equal(SOCK_STREAM, "protocol")
    filter_.end(refuse(errno.EACCES))
    filter_.label("protocol")
    filter_.load(argument(2))
    for protocol in (0, IPPROTO_TCP):
        filter_.when_equal(protocol, "allowed")
    filter_.end(refuse(errno.EACCES))
    filter_.label("allowed")
    filter_.end(ALLOW)


def install(instructions: bytes) -> None:
    """Put this process and all it starts under the filter. Raises OSError."""
    kept = ctypes.create_string_buffer(instructions, len(instructions))
    # struct sock_fprog: the number of instructions, and where they are, aligned like a pointer.
    header = ctypes.create_string_buffer(
        struct.pack("@HP", len(instructions) // 8, ctypes.addressof(kept))
    )
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(
        kernel.PR_SET_SECCOMP,
        kernel.SECCOMP_MODE_FILTER,
        ctypes.c_void_p(ctypes.addressof(header)),
    )
