"""Connections that pass the recorder by: which they are. Nothing is stopped, and nothing changed.

Only TCP counts: a datagram socket is connected to find out a route as often as to send something.
"""

import os
import socket
import struct
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from rerail.sandbox import kernel, notify
from rerail.sandbox.machine import Architecture

KINDS_TOLD: Final = 1000
"""Past so many different connections, no more are told."""

LOOKS: Final = 20
LOOK_SECONDS: Final = 0.001
_LISTENING: Final = b"0A"

_MAPPED: Final = bytes(10) + b"\xff\xff"
"""How an IPv4 address begins that is written as IPv6 (RFC 4291 section 2.5.5.2)."""

Way = Literal["passed by", "inside the run"]


class Passed(Struct, frozen=True):
    """A connection that did not go through the recorder: whose, where to, how often so far.

    "inside the run": its other end is a process of the run too.
    """

    pid: int
    program: str
    target: str
    way: Way
    count: int = 1


class Address(Struct, frozen=True):
    """An internet address, 4 or 16 bytes, and a port."""

    host: bytes
    port: int

    @property
    def is_here(self) -> bool:
        """Whether it leads to this machine by its loopback."""
        if len(self.host) == 4:
            return self.host[0] == 127 or not any(self.host)
        return self.host[:15] == bytes(15) and self.host[15] <= 1

    def __str__(self) -> str:
        if len(self.host) == 4:
            return f"{socket.inet_ntop(socket.AF_INET, self.host)}:{self.port}"
        return f"[{socket.inet_ntop(socket.AF_INET6, self.host)}]:{self.port}"


def internet_address(address: bytes) -> Address | None:
    """What a struct sockaddr says; None for every other kind of address."""
    if len(address) < 8:
        return None
    family, port = struct.unpack_from("=H", address)[0], struct.unpack_from("!H", address, 2)[0]
    if family == socket.AF_INET:
        return Address(address[4:8], port)
    if family == socket.AF_INET6 and len(address) >= 24:
        host = address[8:24]
        return Address(host[12:] if host.startswith(_MAPPED) else host, port)
    return None


def named_address(host: str, port: int) -> Address | None:
    """An address as a program writes it; None for a name."""
    if host == "localhost":
        return Address(b"\x7f\0\0\1", port)
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):
            return Address(socket.inet_pton(family, host), port)
    return None


class Looking:
    """Answers calls that wait, and tells of those that pass by: each time, with a count."""

    def __init__(
        self,
        asks: int,
        machine: Architecture,
        ports: Collection[int],
        run: Callable[[], Iterable[int]],
        tell: Callable[[Passed], None],
    ) -> None:
        """Asked by a descriptor; `ports` are the recorder's, `run` gives the run's pids."""
        self._asks = asks
        self._machine = machine
        self._ports = ports
        self._run = run
        self._tell = tell
        self._seen: dict[tuple[str, str], Passed] = {}

    def answer_one(self) -> None:
        """Let the next call go on, and say what it was."""
        call = notify.receive(self._asks)
        found = None
        try:
            found = self._looked_at(call)
        finally:
            notify.answer(self._asks, call)
        if found is None:
            return
        passed, stream = found
        key = (passed.program, passed.target)
        if stream is None and not _is_tcp(call.pid, call.descriptor):
            return
        if key in self._seen or len(self._seen) < KINDS_TOLD:
            self._seen[key] = passed
            self._tell(passed)

    def _looked_at(self, call: notify.Call) -> tuple[Passed, bool | None] | None:
        """Before the call goes on: its process may be gone right after."""
        address = internet_address(notify.address_of(call, self._machine))
        if address is None or not address.port:
            return None
        if address.is_here and address.port in self._ports:
            return None
        stream = is_stream(call.pid, call.descriptor)
        if stream is False:
            return None
        name, target = program_of(call.pid), str(address)
        notify.check_waiting(self._asks, call)
        before = self._seen.get((name, target))
        if before is not None:
            return replace(before, count=before.count + 1), stream
        way = way_of(call.pid, address, self._run)
        return (Passed(call.pid, name, target, way), stream) if way else None


def way_of(pid: int, address: Address, run: Callable[[], Iterable[int]]) -> Way | None:
    """What to call a connection of process `pid`; `run` gives the processes of the run.

    None where nothing can come of it: on a port of this machine that nobody listens on.
    """
    if not address.is_here:
        return "passed by"
    listening = listeners(pid, address)
    if not listening:
        return None
    inside = any(listening & _sockets_of(other) for other in chain([pid], run()))
    return "inside the run" if inside else "passed by"


def is_stream(pid: int, descriptor: int) -> bool | None:
    """Whether a process's socket is of TCP's kind: a copy of it is asked (pidfd_getfd(2)).

    None where that is refused, as in a container without rights.
    """
    try:
        copy = kernel.copy_of(leader(pid), descriptor)
    except OSError:
        return None
    with socket.socket(fileno=copy) as own:
        return own.type == socket.SOCK_STREAM


def _is_tcp(pid: int, descriptor: int) -> bool:
    """Whether a socket that is about to be connected turns up among TCP's, not among UDP's.

    It does so a moment after its process may go on; one that is closed by then only sought a route.
    """
    for _ in range(LOOKS):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH115
        except OSError:
            return False
        for kind in ("tcp", "udp"):
            rows = _sockets(pid, (kind, f"{kind}6"))
            if any(f"socket:[{fields[9].decode()}]" == link for fields in rows):
                return kind == "tcp"
        time.sleep(LOOK_SECONDS)
    return False


def leader(pid: int) -> int:
    """The process that a thread belongs to."""
    with open(f"/proc/{pid}/status", "rb") as status:  # noqa: PTH123 - the quick way
        for line in status:
            if line.startswith(b"Tgid:"):
                return int(line.split()[1])
    return pid


def program_of(pid: int) -> str:
    """The name of a program: the file it was started from, else what the kernel calls it."""
    for name in ("cmdline", "comm"):
        with suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as words:  # noqa: PTH123
            first = words.read(4096).partition(b"\0")[0].strip()
            if first:
                return os.path.basename(first).decode(errors="replace")  # noqa: PTH119
    return "?"


def listeners(pid: int, address: Address) -> set[int]:
    """The sockets that listen on an address's port, as process `pid` sees the network.

    One of IPv6 may take connections of IPv4 too, but not the other way round.
    """
    wanted = b":%04X" % address.port
    tables = ("tcp6",) if len(address.host) == 16 else ("tcp", "tcp6")
    return {
        int(fields[9])
        for fields in _sockets(pid, tables)
        if fields[3] == _LISTENING and fields[1].endswith(wanted)
    }


def _sockets(pid: int, tables: Iterable[str]) -> Iterator[list[bytes]]:
    """The kernel's tables, a row a socket: the second column is its address, the fourth its state,
    the tenth its number (proc(5)).
    """
    for table in tables:
        with suppress(OSError), open(f"/proc/{pid}/net/{table}", "rb") as lines:  # noqa: PTH123
            next(lines, None)
            yield from map(bytes.split, lines)


def _sockets_of(pid: int) -> set[int]:
    found = set()
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            with suppress(OSError):
                link = os.readlink(f"/proc/{pid}/fd/{name}")  # noqa: PTH115
                if link.startswith("socket:["):
                    found.add(int(link[8:-1]))
    return found
