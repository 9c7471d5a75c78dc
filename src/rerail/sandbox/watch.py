"""The supervisor of a sandboxed command: a thread that answers the calls its filter asks about.

How the kernel asks and is answered is here (seccomp_unotify(2)); what to answer is in `neighbours`.
"""

import errno
import fcntl
import os
import select
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from rerail.sandbox.levels import Refused
from rerail.sandbox.machine import Architecture
from rerail.sandbox.neighbours import Call, address_of, leads_to, made_inside, path_in

_RECEIVE: Final = 0xC0502100
_ANSWER: Final = 0xC0182101
_STILL_VALID: Final = 0x40082102
_GO_ON: Final = 1
_NOTIFICATION: Final = struct.Struct("=QIIiIQ6Q")
_RESPONSE: Final = struct.Struct("=QqiI")


class Watch:
    """Answers until the last process under the filter is gone. `refused` tells what was refused.

    `allowed` are sockets on paths that may be reached though they were made outside.
    """

    def __init__(
        self, descriptor: int, machine: Architecture, *, allowed: Sequence[Path] = ()
    ) -> None:
        self.refused: list[Refused] = []
        self._descriptor = descriptor
        self._machine = machine
        self._allowed = allowed
        self._thread = threading.Thread(target=self._serve, name="sandbox", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        """Wait for the last process under the filter."""
        self._thread.join(seconds)

    def _serve(self) -> None:
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        try:
            while all(event & select.POLLIN for _, event in waiting.poll()):
                with suppress(OSError):  # The caller is gone, and its call with it.
                    self._answer_one()
        finally:
            os.close(self._descriptor)

    def _answer_one(self) -> None:
        # "The memory must be zeroed before the call" (seccomp_unotify(2)).
        received = bytearray(_NOTIFICATION.size)
        fcntl.ioctl(self._descriptor, _RECEIVE, received)
        identity, pid, _, number, audit, _, *arguments = _NOTIFICATION.unpack(received)
        error = self._decide(identity, Call(pid, number, audit, tuple(arguments)))
        answer = (identity, 0, -error, 0) if error else (identity, 0, 0, _GO_ON)
        fcntl.ioctl(self._descriptor, _ANSWER, bytearray(_RESPONSE.pack(*answer)))

    def _decide(self, identity: int, call: Call) -> int:
        """The error number the call is to fail with, 0 to let it go on."""
        try:
            address = address_of(call, self._machine)
            # A process that ended may have left its number to another: ask after reading.
            fcntl.ioctl(self._descriptor, _STILL_VALID, struct.pack("=Q", identity))
        except OSError:
            return errno.EACCES
        path = path_in(address)
        if path is None or made_inside(call.pid, path):
            return 0
        if self._allowed and leads_to(call.pid, path, self._allowed):
            return 0
        self.refused.append(Refused(path, call.pid))
        return errno.ECONNREFUSED
