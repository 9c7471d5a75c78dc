"""The supervisor of a sandboxed command: a thread that answers the calls its filter asks about.

How the kernel asks is in `notify`; what to answer is in `neighbours`.
"""

import errno
import os
import select
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rerail.sandbox import notify
from rerail.sandbox.levels import Refused
from rerail.sandbox.machine import Architecture
from rerail.sandbox.neighbours import leads_to, made_inside, path_in


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
        call = notify.receive(self._descriptor)
        notify.answer(self._descriptor, call, self._decide(call))

    def _decide(self, call: notify.Call) -> int:
        """The error number the call is to fail with, 0 to let it go on."""
        try:
            address = notify.address_of(call, self._machine)
            notify.check_waiting(self._descriptor, call)
        except OSError:
            return errno.EACCES
        path = path_in(address)
        if path is None or made_inside(call.pid, path):
            return 0
        if self._allowed and leads_to(call.pid, path, self._allowed):
            return 0
        self.refused.append(Refused(path, call.pid))
        return errno.ECONNREFUSED
