"""Services of this machine that listen on a path: a sandboxed process is kept from reaching them.

A socket with a path belongs to the network namespace it was made in, but is found by whoever sees
the file: a container engine, a message bus or an ssh agent is reached from a fresh namespace. So
each connect(2) is looked at, and one that leads to a path is refused unless the socket was made in
the caller's own namespace, which /proc/PID/net/unix lists.

Not a wall against a program that wants to break out: the address is read before the kernel reads it
again, and of several messages in one sendmmsg(2) only the first one's is.
"""

import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from rerail.sandbox.bpf import ALLOW, ARCHITECTURE, ASK, NUMBER, Program, argument, refuse
from rerail.sandbox.machine import IO_URING_SETUP, X32_CALLS, Architecture
from rerail.sandbox.writes import add_details, add_rules

AF_UNIX: Final = 1
AF_NETLINK: Final = 16
AF_PACKET: Final = 17
AF_VSOCK: Final = 40
SOCK_RAW: Final = 3
SOCK_TYPE_MASK: Final = 0xF

_PROCESSES: Final = "/proc"
_MOST_LINKS: Final = 40
"""The kernel follows no more on one way."""

_SOCKETCALL_CONNECT: Final = 3
_EACCES, _ENOSYS = 13, 38


def program(machine: Architecture, *, writes: bool = False) -> bytes:
    """The filter that asks about everything that has an address, and about raw sockets.

    `writes`: about calls that may change files, too. vsock, which knows no namespaces, is refused,
    and so is io_uring, which passes filters by.
    """
    filter_ = Program()
    filter_.load(ARCHITECTURE)
    filter_.when_equal(machine.audit, "native")
    filter_.load(NUMBER)
    filter_.when_equal(IO_URING_SETUP, "absent")
    if machine.foreign_connect:
        filter_.when_equal(machine.foreign_connect, "ask")
        filter_.when_equal(machine.foreign_sendto, "to an address")
    if machine.foreign_multiplexer:
        filter_.when_equal(machine.foreign_multiplexer, "multiplexer")
    filter_.end(ALLOW)
    filter_.label("native")
    filter_.load(NUMBER)
    if machine.has_x32:
        filter_.when_at_least(X32_CALLS, "absent")
    for number in (machine.connect, machine.sendmsg, machine.sendmmsg):
        filter_.when_equal(number, "ask")
    filter_.when_equal(machine.sendto, "to an address")
    filter_.when_equal(machine.socket, "socket")
    filter_.when_equal(IO_URING_SETUP, "absent")
    if writes:
        add_rules(filter_, machine)
    filter_.end(ALLOW)
    if writes:
        add_details(filter_, ALLOW)
    _add_details(filter_)
    return filter_.encode()


def _add_details(filter_: Program) -> None:
    filter_.label("to an address")
    for high in (False, True):
        filter_.load(argument(4, high=high))
        filter_.when_any_bit(0xFFFFFFFF, "ask")
    filter_.end(ALLOW)
    filter_.label("multiplexer")
    filter_.load(argument(0))
    filter_.when_equal(_SOCKETCALL_CONNECT, "ask")
    filter_.end(ALLOW)
    filter_.label("socket")
    filter_.load(argument(0))
    filter_.when_equal(AF_VSOCK, "refused")
    filter_.when_equal(AF_PACKET, "ask")
    filter_.load(argument(1))
    filter_.mask(SOCK_TYPE_MASK)
    filter_.when_equal(SOCK_RAW, "raw")
    filter_.end(ALLOW)
    filter_.label("raw")
    filter_.load(argument(0))
    for family in (AF_UNIX, AF_NETLINK):
        filter_.when_equal(family, "allowed")
    filter_.label("ask")
    filter_.end(ASK)
    filter_.label("allowed")
    filter_.end(ALLOW)
    filter_.label("refused")
    filter_.end(refuse(_EACCES))
    filter_.label("absent")
    filter_.end(refuse(_ENOSYS))


def path_in(address: bytes) -> str | None:
    """The path that an address names; None for every other kind of address."""
    family, rest = address[:2], address[2:]
    if len(address) < 3 or struct.unpack("=H", family)[0] != AF_UNIX or rest[:1] == b"\0":
        return None
    return os.fsdecode(rest.partition(b"\0")[0])


def made_inside(pid: int, path: str) -> bool:
    """Whether the socket at `path`, as process `pid` sees it, is of that process's namespace.

    A path at which there is nothing is nobody's: the kernel may say so itself.
    """
    process = Path("/proc") / str(pid)
    wanted = _identity(process, path)
    if wanted is None:
        return True
    return any(_identity(process, name) == wanted for name in _bound_names(process))


def leads_to(pid: int, path: str, allowed: Iterable[Path]) -> bool:
    """Whether `path`, as process `pid` sees it, is one of the sockets that we find at `allowed`."""
    wanted = _identity(Path("/proc") / str(pid), path)
    if wanted is None:
        return False
    own = Path("/proc/self")
    return any(_identity(own, str(socket.absolute())) == wanted for socket in allowed)


def where_it_leads(pid: int, path: str) -> str | None:
    """The path without a link in it that `path` of process `pid` leads to; its end may be missing.

    Followed name by name, as the kernel does it. None where that cannot be known: `/proc` shows
    each process itself, and us another thing. Raises OSError where the process is gone.
    """
    if not path.startswith("/"):
        path = f"{os.readlink(f'/proc/{pid}/cwd')}/{path}"  # noqa: PTH115
    place, ahead, links = "", path.split("/")[::-1], 0
    while ahead:
        name = ahead.pop()
        if name == "..":
            place = place.rpartition("/")[0]
        elif name not in ("", "."):
            place = f"{place}/{name}"
            target = _link(place)
            links += target is not None
            if place == _PROCESSES or links > _MOST_LINKS:
                return None
            if target is not None:
                place = "" if target.startswith("/") else place.rpartition("/")[0]
                ahead += target.split("/")[::-1]
    return place or "/"


def _link(place: str) -> str | None:
    with suppress(OSError):
        return os.readlink(place)  # noqa: PTH115
    return None


def _identity(process: Path, path: str) -> tuple[int, int] | None:
    start = process / ("root" if path.startswith("/") else "cwd")
    with suppress(OSError, ValueError):
        found = (start / path.lstrip("/")).stat()
        return found.st_dev, found.st_ino
    return None


def _bound_names(process: Path) -> Iterator[str]:
    """The eighth column is the name that was given to bind(2), and may have spaces (proc(5))."""
    with suppress(OSError):
        for line in (process / "net" / "unix").read_bytes().splitlines()[1:]:
            fields = line.split(maxsplit=7)
            if len(fields) == 8 and not fields[7].startswith(b"@"):
                yield os.fsdecode(fields[7])
