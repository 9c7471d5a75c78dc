"""The supervisor of a sandboxed command: a thread that answers the calls its filter asks about.

How the kernel asks is in `notify`; what to answer is in `neighbours`, `passing` and `writes`. What
is refused is told: mostly the kernel itself refuses, in a namespace from which nothing leads out.
"""

import errno
import os
import socket
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rerail.sandbox import notify, stead
from rerail.sandbox.levels import Attempt, Refused
from rerail.sandbox.machine import Architecture
from rerail.sandbox.neighbours import (
    SOCK_TYPE_MASK,
    leads_to,
    made_inside,
    path_in,
    where_it_leads,
)
from rerail.sandbox.passing import Address, internet_address, is_stream, listeners, program_of
from rerail.sandbox.staying import answer_all, stay_behind
from rerail.sandbox.writes import is_beneath, refused_path

WATCHING: Final = "have connections to paths looked at"
"""The step by which a child comes under the filter that asks."""

KINDS_TOLD: Final = 1000
"""Past so many different things that were refused, no more are kept."""

_DNS: Final = 53


class Watch:
    """Answers until the last process under the filter is gone.

    `allowed` are sockets on paths that may be reached though they were made outside, `free` the
    folders that may be written. `ports` are the recorder's where the command is in no network
    namespace of its own: what leads elsewhere is refused, and a path outside `free` is another's.
    `network`: all of the network is free.
    """

    def __init__(
        self,
        descriptor: int,
        machine: Architecture,
        *,
        allowed: Sequence[Path] = (),
        free: Sequence[Path] = (),
        ports: Collection[int] | None = None,
        network: bool = False,
    ) -> None:
        self._refused: dict[tuple[Attempt, str, str], Refused] = {}
        self._descriptor = descriptor
        self._machine = machine
        self._allowed = allowed
        self._ports = ports
        self._network = network
        self._free = [str(path) for path in free]
        self._stead = {number: name for name, number in stead.numbers(machine).items()}
        self._own = [os.path.realpath(path) for path in free]
        self._files = {number: name for name, number in machine.files.items()}
        # The thread closes it once nobody asks: its number may then be that of anything.
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="sandbox", daemon=True)

    @property
    def refused(self) -> list[Refused]:
        """What was refused so far: each kind once, with a count."""
        return list(self._refused.values())

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        """Wait for the last process under the filter."""
        self._thread.join(seconds)

    def leave(self) -> None:
        """Have a process answer when this one has ended, if there is anybody left to ask."""
        with self._guard:
            if self._descriptor >= 0:
                stay_behind(self._descriptor, self._answer)

    def _serve(self) -> None:
        self._answer()
        with self._guard:
            os.close(self._descriptor)
            self._descriptor = -1

    def _answer(self) -> None:
        answer_all(self._descriptor, self._answer_one)

    def _answer_one(self) -> None:
        call = notify.receive(self._descriptor)
        error = errno.EACCES
        try:
            error = self._decide(call)
        finally:
            notify.answer(self._descriptor, call, error)

    def _decide(self, call: notify.Call) -> int:
        """The error number the call is to fail with, 0 to let it go on, or `DONE`."""
        native = call.audit == self._machine.audit
        if native and call.number in self._stead:
            return self._do(call, self._stead[call.number])
        if native and call.number in self._files:
            self._look_at_write(call, self._files[call.number])
            return 0
        if native and call.number == self._machine.socket:
            datagram = call.arguments[1] & SOCK_TYPE_MASK == socket.SOCK_DGRAM
            what: Attempt = "udp" if datagram else "raw socket"
            self._note(call, what, _family(call.arguments[0] & 0xFFFFFFFF))
            return errno.EPERM if self._ports is None else errno.EACCES
        try:
            address = notify.address_of(call, self._machine)
            notify.check_waiting(self._descriptor, call)
        except OSError:
            return errno.EACCES
        path = path_in(address)
        if path is not None:
            return self._neighbour(call, path)
        internet = internet_address(address)
        if internet is not None and not self._network:
            self._look_at_way_out(call, internet)
        return 0

    def _do(self, call: notify.Call, name: str) -> int:
        """What is named could be another thing by the time the kernel looks, so we do it."""
        try:
            with stead.object_of(call, name) as held:
                notify.check_waiting(self._descriptor, call)
                stead.do(call, name, held, self._own)
        except stead.NotIts as error:
            self._note(call, "write", str(error))
            return errno.EPERM
        except OSError as error:
            return error.errno or errno.EACCES
        return notify.DONE

    def _neighbour(self, call: notify.Call, path: str) -> int:
        if self._is_own(call, path) if self._ports is None else self._is_beneath_own(call, path):
            return 0
        self._note(call, "unix socket", path)
        return errno.ECONNREFUSED

    def _is_own(self, call: notify.Call, path: str) -> bool:
        if made_inside(call.pid, path):
            return True
        return bool(self._allowed) and leads_to(call.pid, path, self._allowed)

    def _is_beneath_own(self, call: notify.Call, path: str) -> bool:
        with suppress(OSError):
            place = where_it_leads(call.pid, path)
            if place is None:
                return False
            if is_beneath(place, self._own) or place in map(os.path.realpath, self._allowed):
                return True
            # Where nothing is, the kernel may say so itself.
            return not os.path.lexists(place)
        return False

    def _look_at_way_out(self, call: notify.Call, address: Address) -> None:
        """The kernel refuses by itself what does not lead to the recorder, or stay inside."""
        if self._ports is not None:
            if not (address.is_here and address.port in self._ports):
                self._note(call, "tcp", str(address))
            return
        what: Attempt = "udp" if is_stream(call.pid, call.descriptor) is False else "tcp"
        if what == "udp" and address.port == _DNS:
            what = "name lookup"
        if address.is_here and (what == "udp" or listeners(call.pid, address)):
            return
        if address.port:
            self._note(call, what, str(address))

    def _look_at_write(self, call: notify.Call, name: str) -> None:
        with suppress(OSError):
            path = refused_path(call, name, self._free, mounted=self._ports is None)
            if path is not None:
                self._note(call, "write", path)

    def _note(self, call: notify.Call, what: Attempt, target: str) -> None:
        program = program_of(call.pid)
        key = (what, target, program)
        before = self._refused.get(key)
        if before is not None:
            self._refused[key] = replace(before, count=before.count + 1)
        elif len(self._refused) < KINDS_TOLD:
            self._refused[key] = Refused(what, target, program, call.pid)


def _family(number: int) -> str:
    try:
        return socket.AddressFamily(number).name
    except ValueError:
        return f"family {number}"
