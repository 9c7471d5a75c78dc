"""Which sandbox this machine allows: each is entered for a trial, the strongest one is taken.

Trying is the only honest question: namespaces are refused by kernels, by sysctls, by the profile of
a container, each in a place of its own.
"""

import os
import socket
import warnings
from collections.abc import Sequence
from typing import Protocol

from rerail.sandbox.handshake import Handshake
from rerail.sandbox.levels import (
    NETWORK_NAMESPACE,
    SOCKET_FILTER,
    TCP_RULES,
    UNIX_SOCKET_FILTER,
    WRITE_RULES,
    Containment,
    MissingLayer,
    Refused,
    SandboxFailed,
)


class Sandbox(Protocol):
    """What stands between a command and the world."""

    @property
    def containment(self) -> Containment:
        """The layers it has."""

    @property
    def listens_inside(self) -> bool:
        """Whether `admit` gives the recorder's listeners; else the caller has them on the ports."""

    @property
    def refused(self) -> tuple[Refused, ...]:
        """What the command tried in vain, as far as this sandbox is told of it."""

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        """In the child, between fork and exec; `ports` are the recorder's."""

    def admit(self, child: Handshake, pid: int) -> list[socket.socket]:
        """In the parent, meanwhile; a listener for each port. Raises `SandboxFailed`."""


class Unconfined:
    """No sandbox: the command reaches what it likes, and the report says so."""

    listens_inside = False
    refused: tuple[Refused, ...] = ()

    def __init__(self, why: str) -> None:
        layers = (NETWORK_NAMESPACE, TCP_RULES, SOCKET_FILTER, UNIX_SOCKET_FILTER, WRITE_RULES)
        self.containment = Containment((), tuple(MissingLayer(layer, why) for layer in layers))

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        """Nothing to enter."""

    def admit(self, child: Handshake, pid: int) -> list[socket.socket]:
        """Nothing to be done."""
        return []


def choose_sandbox() -> Sandbox:
    """The strongest sandbox that can be entered here; its `containment` says what it lacks."""
    try:
        from rerail.sandbox.network import NetworkNamespace
        from rerail.sandbox.ports import PortRules
    except (ImportError, AttributeError):
        return Unconfined("this system has no such thing")
    watched = NetworkNamespace()
    why = refusal(watched)
    if why is None:
        return watched
    namespace = NetworkNamespace(unwatched=why)
    why = refusal(namespace)
    if why is None:
        return namespace
    rules = PortRules(why_no_namespace=why)
    if not rules.containment.layers:
        return Unconfined(why)
    why = refusal(rules)
    return rules if why is None else Unconfined(why)


def refusal(sandbox: Sandbox) -> str | None:
    """Why this sandbox cannot be entered here, None if it can: a child does so and ends."""
    ours, theirs = Handshake.pair()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        # Python 3.12 warns of threads. The child runs only what is loaded already, then ends.
        pid = os.fork()
    if pid == 0:
        try:
            # With its own copy of the parent's end open, it would never see that end closed.
            ours.close()
            sandbox.enter(theirs, [0])
        finally:
            os._exit(0)
    theirs.close()
    try:
        for listener in sandbox.admit(ours, pid):
            listener.close()
        ours.await_exec()
    except SandboxFailed as failed:
        return failed.what
    finally:
        ours.close()
        os.waitpid(pid, 0)
    return None
