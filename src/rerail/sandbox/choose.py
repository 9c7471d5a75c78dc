"""Which sandbox this machine allows: each is entered for a trial, the strongest one is taken.

Trying is the only honest question: namespaces are refused by kernels, by sysctls, by the profile of
a container, each in a place of its own.
"""

import os
import socket
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rerail.sandbox.handshake import Handshake, SandboxFailed
from rerail.sandbox.levels import (
    NETWORK_NAMESPACE,
    PRIVATE_PATHS,
    SOCKET_FILTER,
    TCP_RULES,
    UNIX_SOCKET_FILTER,
    WRITE_RULES,
    Containment,
    Layer,
    Refused,
)
from rerail.sandbox.view import Bind, View


class Sandbox(Protocol):
    """What stands between a command and the world."""

    @property
    def containment(self) -> Containment:
        """The layers it has."""

    @property
    def view(self) -> View:
        """What the command sees of the file system, as far as this sandbox can bring it about."""

    @property
    def listens_inside(self) -> bool:
        """Whether `admit` gives the recorder's listeners; else the caller has them on the ports."""

    @property
    def refused(self) -> tuple[Refused, ...]:
        """What the command tried in vain, as far as this sandbox is told of it."""

    def reach(self, socket: Path) -> None:
        """Let the command connect to a socket on a path that it did not make; before `enter`."""

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        """In the child, between fork and exec; `ports` are the recorder's."""

    def admit(self, child: Handshake, pid: int, ports: Sequence[int]) -> list[socket.socket]:
        """In the parent, meanwhile; a listener for each port. Raises `SandboxFailed`."""

    def leave(self) -> None:
        """In the parent, where processes outlive it: they stay as they are kept."""


class Unconfined:
    """No sandbox: the command reaches what it likes, and the report says so."""

    listens_inside = False
    refused: tuple[Refused, ...] = ()

    def __init__(self, why: str, view: View | None = None) -> None:
        layers = [NETWORK_NAMESPACE, TCP_RULES, SOCKET_FILTER, UNIX_SOCKET_FILTER, WRITE_RULES]
        view = view or View()
        if view.binds:
            layers.append(PRIVATE_PATHS)
        self.view = view.unplaced().unruled()
        self.containment = Containment.of(layers, dict.fromkeys(layers, why))

    def reach(self, socket: Path) -> None:
        """Everything can be reached."""

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        """Nothing to enter."""

    def admit(self, child: Handshake, pid: int, ports: Sequence[int]) -> list[socket.socket]:
        """Nothing to be done."""
        return []

    def leave(self) -> None:
        """Nobody is kept from anything."""


def choose_sandbox(
    *,
    binds: Sequence[Bind] = (),
    writable: Sequence[Path] | None = None,
    private: Sequence[Path] = (),
    sockets: Sequence[Path] = (),
) -> Sandbox:
    """The strongest sandbox that can be entered here; its `containment` says what it lacks.

    What the command is to see and may write is in `rerail.sandbox.view`. Where `PRIVATE_PATHS` is
    missing, the sources of `binds` are seen at their own paths only. `sockets` are those on paths
    that it may connect to though it did not make them.
    """
    view = View.of(binds=binds, writable=writable, private=private)
    try:
        from rerail.sandbox.network import OF_STEP, NetworkNamespace
        from rerail.sandbox.ports import PortRules
        from rerail.sandbox.watch import WATCHING
    except (ImportError, AttributeError):
        return Unconfined("this system has no such thing", view)
    lacking: dict[Layer, str] = {}
    while True:
        namespace = NetworkNamespace(view, sockets=sockets, lacking=lacking)
        failed = refusal(namespace)
        if failed is None:
            return namespace
        layer = OF_STEP.get(failed.step)
        if layer is None or layer in lacking:
            break
        lacking[layer] = failed.what
    why, unwatched = failed.what, ""
    while True:
        rules = PortRules(view, sockets=sockets, why_no_namespace=why, unwatched=unwatched)
        if not rules.containment.layers:
            return Unconfined(why, view)
        failed = refusal(rules)
        if failed is None:
            return rules
        if failed.step != WATCHING or unwatched:
            return Unconfined(failed.what, view)
        unwatched = failed.what


def refusal(sandbox: Sandbox) -> SandboxFailed | None:
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
        for listener in sandbox.admit(ours, pid, [0]):
            listener.close()
        ours.await_exec()
    except SandboxFailed as failed:
        return failed
    finally:
        ours.close()
        os.waitpid(pid, 0)
    return None
