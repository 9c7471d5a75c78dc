"""A plane of a task: files of its own, the rest of the machine to read, some of it hidden.

Landlock's rules for files and TCP, and the socket filter, as they are where no namespace is. What
is hidden (keys, state, credentials) is so for the command and all it starts.
"""

import errno
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from rerail.sandbox import aside, kernel, landlock, machine, seccomp, sockets, stead
from rerail.sandbox.handshake import Handshake
from rerail.sandbox.hiding import all_but
from rerail.sandbox.levels import (
    CALL_FILTER,
    READ_RULES,
    SOCKET_FILTER,
    TCP_RULES,
    UNIX_SOCKET_FILTER,
    WRITE_RULES,
    Containment,
    Layer,
    Refused,
)
from rerail.sandbox.view import View
from rerail.sandbox.watch import WATCHING, Watch

NEEDED = (READ_RULES, WRITE_RULES, UNIX_SOCKET_FILTER, CALL_FILTER)
"""Without one of these a plane is not contained: what is hidden could be had by another way."""


CAPABILITIES = 64
"""How many there can be at most."""


class Plane:
    """What stands between one plane and the rest. `writable` are its own places.

    `hidden` cannot be read, but for what is `shown` of it. TCP goes to the recorder's ports, or
    anywhere where `network` is set. `allowed` are sockets on paths that it may connect to.
    """

    listens_inside = False

    def __init__(
        self,
        *,
        writable: Sequence[Path],
        hidden: Sequence[Path],
        shown: Sequence[Path] = (),
        allowed: Sequence[Path] = (),
        network: bool = False,
    ) -> None:
        self._machine = machine.here()
        self._network = network
        self._allowed = tuple(allowed)
        self._watch: Watch | None = None
        found = landlock.version() if kernel.is_linux() else 0
        known = found >= landlock.FILES_SINCE
        self._readable = all_but(hidden, [*shown, *writable]) if known else None
        lacking = _lacking(found, self._machine)
        if network:
            lacking |= {TCP_RULES: "the contract asks for it", SOCKET_FILTER: "the same"}
        self._tcp = TCP_RULES not in lacking
        self.view = View.of(writable=writable)
        self.containment = Containment.of(
            [READ_RULES, WRITE_RULES, TCP_RULES, SOCKET_FILTER, UNIX_SOCKET_FILTER, CALL_FILTER],
            lacking,
        )

    @property
    def contained(self) -> bool:
        """Whether what is hidden is out of reach."""
        return all(layer in self.containment.layers for layer in NEEDED)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """What the command tried in vain."""
        return tuple(self._watch.refused) if self._watch else ()

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        """In the child: restrict itself, and thereby all it starts."""
        with parent.step("give up the rights of root"):
            _give_up_rights()
        if self._readable is not None:
            with parent.step("hide what is not the command's"):
                landlock.restrict(ports if self._tcp else None, self.view.free, self._readable)
        if self._machine is None:
            return
        with parent.step("leave other processes alone"):
            seccomp.install(aside.program(self._machine))
        with parent.step(WATCHING):
            asks = seccomp.install_asking(self._asking(self._machine), self._machine)
        parent.send_descriptors(asks)
        os.close(asks)

    def _asking(self, here: machine.Architecture) -> bytes:
        if self._network:
            return stead.program(here)
        return sockets.program(here, asks=True, also=stead.numbers(here).values())

    def admit(self, child: Handshake, pid: int, ports: Sequence[int]) -> list[socket.socket]:
        """In the parent: begin to answer what the filter asks."""
        if self._machine is not None:
            descriptor = child.receive_descriptors()[0]
            self._watch = Watch(
                descriptor,
                self._machine,
                allowed=self._allowed,
                free=self.view.free,
                ports=ports,
                network=self._network,
            )
            self._watch.start()
        return []

    def leave(self) -> None:
        """Have somebody answer for those that outlive this process."""
        if self._watch is not None:
            self._watch.leave()


def _give_up_rights() -> None:
    """With the rights of root, a raw disk or another process's environment could be read.

    capabilities(7): what is not in the bounding set, a program that is executed does not get.
    """
    if os.geteuid() != 0:
        return
    for number in range(CAPABILITIES):
        try:
            kernel.prctl(kernel.PR_CAPBSET_DROP, number)
        except OSError as error:
            if error.errno != errno.EINVAL:  # which says that there is none of that number
                raise


def _lacking(found: int, known: machine.Architecture | None) -> dict[Layer, str]:
    lacking: dict[Layer, str] = {}
    if found < landlock.FILES_SINCE:
        why = f"Landlock {found} is too old (Linux 6.2)" if found else "no Landlock here"
        lacking |= dict.fromkeys((READ_RULES, WRITE_RULES), why)
    if found < landlock.TCP_SINCE:
        lacking[TCP_RULES] = f"Landlock {found} is too old (Linux 6.7)" if found else "no Landlock"
    if known is None:
        why = "not known for this kind of machine"
        lacking |= dict.fromkeys((SOCKET_FILTER, UNIX_SOCKET_FILTER, CALL_FILTER), why)
    return lacking
