"""Which sandbox this machine allows: each is tried, the strongest that works is taken."""

import socket
from typing import Protocol

from rerail.sandbox.handshake import Handshake
from rerail.sandbox.levels import Containment


class Sandbox(Protocol):
    """What stands between a command and the world."""

    @property
    def containment(self) -> Containment:
        """The layers it has."""

    @property
    def listens_inside(self) -> bool:
        """Whether `admit` gives the recorder's listener; else the caller has one on the port."""

    def enter(self, parent: Handshake, port: int) -> None:
        """In the child, between fork and exec."""

    def admit(self, child: Handshake, pid: int) -> socket.socket | None:
        """In the parent, meanwhile. Raises `SandboxFailed`."""
