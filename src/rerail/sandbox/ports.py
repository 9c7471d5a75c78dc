"""The sandbox for machines that refuse namespaces: rules on ports and on kinds of sockets.

The recorder's listener is the caller's own, on the machine's loopback. A server that the command
starts itself is out of its reach here, which a namespace would allow.
"""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from rerail.sandbox import kernel, landlock, machine, seccomp, sockets
from rerail.sandbox.handshake import Handshake
from rerail.sandbox.levels import (
    NETWORK_NAMESPACE,
    NOT_ASKED,
    PRIVATE_PATHS,
    SOCKET_FILTER,
    TCP_RULES,
    UNIX_SOCKET_FILTER,
    WRITE_RULES,
    Containment,
    Refused,
)
from rerail.sandbox.view import View
from rerail.sandbox.watch import WATCHING, Watch


class PortRules:
    """Landlock's rules and the socket filter, each where the kernel has it.

    `unwatched` says why the filter cannot ask a supervisor: then nothing is told, and services that
    listen on a path are in reach. Folders that would be private are written for real here.
    """

    listens_inside = False

    def __init__(
        self,
        view: View | None = None,
        *,
        sockets: Sequence[Path] = (),
        why_no_namespace: str,
        unwatched: str = "",
    ) -> None:
        self._machine = machine.here()
        found = landlock.version() if kernel.is_linux() else 0
        self._rules = found >= landlock.TCP_SINCE
        self._asks = self._machine is not None and not unwatched
        self._sockets = tuple(sockets)
        self._watch: Watch | None = None
        view = view or View()
        lacking = {NETWORK_NAMESPACE: why_no_namespace, PRIVATE_PATHS: why_no_namespace}
        if view.writable is None:
            lacking[WRITE_RULES] = NOT_ASKED
        if not self._rules:
            why = f"Landlock {found} is too old (Linux 6.7)" if found else "no Landlock here"
            lacking |= {TCP_RULES: why, WRITE_RULES: why}
        if self._machine is None:
            lacking[SOCKET_FILTER] = "not known for this kind of machine"
        if not self._asks:
            lacking[UNIX_SOCKET_FILTER] = unwatched or "not known for this kind of machine"
        wanted = [NETWORK_NAMESPACE, TCP_RULES, SOCKET_FILTER, UNIX_SOCKET_FILTER, WRITE_RULES]
        if view.binds:
            wanted.append(PRIVATE_PATHS)
        view = view.unplaced()
        self.view = view.unruled() if WRITE_RULES in lacking else view
        self.containment = Containment.of(wanted, lacking)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """What the command tried in vain."""
        return tuple(self._watch.refused) if self._watch else ()

    def reach(self, socket: Path) -> None:
        """Let the command connect to this socket too."""
        self._sockets = (*self._sockets, socket)

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        """In the child: restrict itself, and thereby all it starts."""
        writes = self.view.writable is not None
        if self._rules:
            with parent.step("allow TCP to the recorder alone"):
                landlock.restrict(ports, self.view.free if writes else None)
        if self._machine is None:
            return
        if not self._asks:
            with parent.step("refuse other sockets than TCP"):
                seccomp.install(sockets.program(self._machine))
            return
        with parent.step(WATCHING):
            filter_ = sockets.program(self._machine, asks=True, writes=writes)
            asks = seccomp.install_asking(filter_, self._machine)
        parent.send_descriptors(asks)
        os.close(asks)

    def admit(self, child: Handshake, pid: int, ports: Sequence[int]) -> list[socket.socket]:
        """In the parent: begin to answer what the filter asks."""
        if self._asks and self._machine is not None:
            descriptor = child.receive_descriptors()[0]
            self._watch = Watch(
                descriptor,
                self._machine,
                allowed=self._sockets,
                free=self.view.free,
                ports=ports,
            )
            self._watch.start()
        return []

    def leave(self) -> None:
        """Have somebody answer for those that outlive this process."""
        if self._watch is not None:
            self._watch.leave()
