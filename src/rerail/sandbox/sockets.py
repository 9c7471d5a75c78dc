"""A seccomp filter that leaves a process no sockets but TCP and local ones.

It makes up for what Landlock's TCP rules do not see: UDP, raw and MPTCP sockets, TCP Fast Open,
sockets made through io_uring, and families like vsock. With a supervisor it asks before it refuses,
and about connections and writing, so that what is refused can be told.

A program for the kernel; `seccomp` puts a process under it.
"""

import errno
from collections.abc import Collection
from typing import Final

from rerail.sandbox.bpf import ALLOW, ARCHITECTURE, ASK, NUMBER, Program, argument, refuse
from rerail.sandbox.machine import IO_URING_SETUP, X32_CALLS, Architecture
from rerail.sandbox.writes import add_details, add_rules

AF_UNIX: Final = 1
AF_INET: Final = 2
AF_INET6: Final = 10
AF_NETLINK: Final = 16
SOCK_STREAM: Final = 1
SOCK_TYPE_MASK: Final = 0xF
IPPROTO_TCP: Final = 6
MSG_FASTOPEN: Final = 0x20000000


def program(
    machine: Architecture,
    *,
    asks: bool = False,
    writes: bool = False,
    also: Collection[int] = (),
) -> bytes:
    """The filter for this architecture. `asks`: there is a supervisor; `writes`: of files as well.

    `also` are numbers of other calls that the supervisor is asked about.

    It never asks about sendmsg(2), by which its own descriptor is handed over.
    """
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
    for number in (machine.connect, *also) if asks else ():
        filter_.when_equal(number, "ask")
    if asks and writes:
        add_rules(filter_, machine)
    filter_.end(ALLOW)
    if asks and writes:
        add_details(filter_, ALLOW)
    for index in sorted(set(flags_at.values())):
        filter_.label(f"flags {index}")
        filter_.load(argument(index))
        filter_.when_any_bit(MSG_FASTOPEN, "refused")
        filter_.end(ALLOW)
    _add_socket_rules(filter_, refuse(errno.EACCES) if not asks else ASK)
    filter_.label("ask")
    filter_.end(ASK)
    filter_.label("refused")
    filter_.end(refuse(errno.EACCES))
    return filter_.encode()


def _add_socket_rules(filter_: Program, verdict: int) -> None:
    filter_.label("socket")
    filter_.load(argument(0))
    for family in (AF_UNIX, AF_NETLINK):
        filter_.when_equal(family, "allowed")
    for family in (AF_INET, AF_INET6):
        filter_.when_equal(family, "type")
    filter_.end(verdict)
    filter_.label("type")
    filter_.load(argument(1))
    filter_.mask(SOCK_TYPE_MASK)
    filter_.when_equal(SOCK_STREAM, "protocol")
    filter_.end(verdict)
    filter_.label("protocol")
    filter_.load(argument(2))
    for protocol in (0, IPPROTO_TCP):
        filter_.when_equal(protocol, "allowed")
    filter_.end(verdict)
    filter_.label("allowed")
    filter_.end(ALLOW)
