"""The sandbox for machines that refuse namespaces: rules on ports and on kinds of sockets.

The recorder's listener is the caller's own, on the machine's loopback. A server that the command
starts itself is out of its reach here, which a namespace would allow.
"""

import socket
from collections.abc import Sequence

from rerail.sandbox import kernel, landlock, machine, seccomp, sockets
from rerail.sandbox.handshake import Handshake
from rerail.sandbox.levels import (
    NETWORK_NAMESPACE,
    NOT_YET,
    PRIVATE_PATHS,
    SOCKET_FILTER,
    TCP_RULES,
    UNIX_SOCKET_FILTER,
    WRITE_RULES,
    Containment,
    Refused,
)
from rerail.sandbox.view import View


class PortRules:
    """Landlock's TCP rules and the socket filter, each where the kernel has it."""

    listens_inside = False
    refused: tuple[Refused, ...] = ()

    def __init__(self, view: View | None = None, *, why_no_namespace: str) -> None:
        self._machine = machine.here()
        found = landlock.version() if kernel.is_linux() else 0
        self._rules = found >= landlock.TCP_SINCE
        view = view or View()
        lacking = {
            NETWORK_NAMESPACE: why_no_namespace,
            PRIVATE_PATHS: why_no_namespace,
            UNIX_SOCKET_FILTER: NOT_YET,
            WRITE_RULES: NOT_YET,
        }
        if not self._rules:
            why = f"Landlock {found} is too old (Linux 6.7)" if found else "no Landlock here"
            lacking[TCP_RULES] = why
        if self._machine is None:
            lacking[SOCKET_FILTER] = "not known for this kind of machine"
        wanted = [NETWORK_NAMESPACE, TCP_RULES, SOCKET_FILTER, UNIX_SOCKET_FILTER, WRITE_RULES]
        if view.binds:
            wanted.append(PRIVATE_PATHS)
        self.view = view.unplaced().unruled()
        self.containment = Containment.of(wanted, lacking)

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        """In the child: restrict itself, and thereby all it starts."""
        if self._rules:
            with parent.step("allow TCP to the recorder alone"):
                landlock.allow_only_ports(ports)
        if self._machine is not None:
            with parent.step("refuse other sockets than TCP"):
                seccomp.install(sockets.program(self._machine))

    def admit(self, child: Handshake, pid: int) -> list[socket.socket]:
        """In the parent: nothing is to be done."""
        return []
