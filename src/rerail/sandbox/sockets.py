"""A seccomp filter that leaves a process no sockets but TCP and local ones.

It makes up for what Landlock's TCP rules do not see: UDP, raw and MPTCP sockets, TCP Fast Open,
sockets made through io_uring, and families like vsock. Cannot look at addresses.

A program for the kernel; `seccomp` puts a process under it.
"""

import errno
from typing import Final

from rerail.sandbox.bpf import ALLOW, ARCHITECTURE, NUMBER, Program, argument, refuse
from rerail.sandbox.machine import IO_URING_SETUP, X32_CALLS, Architecture

AF_UNIX: Final = 1
AF_INET: Final = 2
AF_INET6: Final = 10
AF_NETLINK: Final = 16
SOCK_STREAM: Final = 1
SOCK_TYPE_MASK: Final = 0xF
IPPROTO_TCP: Final = 6
MSG_FASTOPEN: Final = 0x20000000


def program(machine: Architecture) -> bytes:
    """The filter for this architecture."""
    filter_ = Program()
    filter_.load(ARCHITECTURE)
    filter_.when_equal(machine.audit, "native")
    filter_.load(NUMBER)
    for number in (machine.foreign_socket, machine.foreign_multiplexer, IO_URING_SETUP):
        if number:
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
