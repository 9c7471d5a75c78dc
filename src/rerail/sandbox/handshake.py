"""What a forked child and its parent say to each other before the child becomes the command.

One byte a message, so that a stream socket keeps them apart; a failure ends the talk. Knows
nothing of what the steps are.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rerail.errors import UserError
from rerail.sandbox import kernel

_FAILED: Final = b"!"
_DESCRIPTOR: Final = b"d"
_OFFERED: Final = b"o"
_TAKEN: Final = b"t"

DESCRIPTORS: Final = 64
"""How many open files are handed over at once, at most."""

EXEC: Final = "execute the command"
"""The step that is not the sandbox's."""


class SandboxFailed(UserError):
    """A sandbox that was chosen could not be entered; `step` is what failed, where it is known."""

    step: str = ""


class ExecFailed(OSError):
    """The command could not be executed; `errno` says why."""


class LastWordsSaid(Exception):
    """In the child: the parent knows what failed."""


class Handshake:
    """One end of the talk. The child's end closes by itself when the command is executed."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    @classmethod
    def pair(cls) -> tuple["Handshake", "Handshake"]:
        """The parent's end and the child's."""
        parents, childs = socket.socketpair()
        return cls(parents), cls(childs)

    def close(self) -> None:
        """Hang up."""
        self._end.close()

    def say(self, word: bytes) -> None:
        """Tell the other side one byte."""
        self._end.sendall(word)

    def expect(self, word: bytes) -> None:
        """Wait for one byte. Raises `SandboxFailed` with what the other side says instead."""
        said = self._end.recv(1)
        if said != word:
            raise self._failure(said)

    def send_descriptors(self, *descriptors: int) -> None:
        """Hand open files over (SCM_RIGHTS, unix(7))."""
        socket.send_fds(self._end, [_DESCRIPTOR], descriptors)

    def receive_descriptors(self) -> list[int]:
        """Take open files, one at least. Raises `SandboxFailed` with what is said instead."""
        said, descriptors, _, _ = socket.recv_fds(self._end, 1, DESCRIPTORS)
        if said != _DESCRIPTOR or not descriptors:
            raise self._failure(said)
        for descriptor in descriptors:
            # The system makes received descriptors inheritable; ours never are (PEP 446).
            os.set_inheritable(descriptor, False)
        return descriptors

    def offer_descriptor(self, descriptor: int) -> None:
        """Have an open file taken by `take_descriptor`: for one whose messages would wait."""
        self._end.sendall(_OFFERED + descriptor.to_bytes(4))
        self.expect(_TAKEN)

    def take_descriptor(self, pid: int) -> int:
        """Take the open file that process `pid` offers. Raises `SandboxFailed`."""
        self.expect(_OFFERED)
        number = int.from_bytes(self._end.recv(4))
        try:
            descriptor = kernel.copy_of(pid, number)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise SandboxFailed(
                f"cannot look into the command's process: {why}",
                hint="`rerail doctor` shows which sandbox works here",
            ) from error
        self.say(_TAKEN)
        return descriptor

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step of the child's: if it fails, its name and the system's number are the last words.

        Raises `LastWordsSaid`, upon which the child has only to go.
        """
        try:
            yield
        except OSError as error:
            self._end.sendall(_FAILED + f"{error.errno or 0} {name}".encode())
            raise LastWordsSaid from error

    def await_exec(self) -> None:
        """Return when the child has become the command. Raises `ExecFailed` or `SandboxFailed`."""
        said = self._end.recv(1)
        if said:
            raise self._failure(said)

    def _failure(self, said: bytes) -> ExecFailed | SandboxFailed:
        if said != _FAILED:
            return SandboxFailed("the command ended before it began", hint="run it once more")
        words = b""
        while piece := self._end.recv(4096):
            words += piece
        number, _, step = words.decode().partition(" ")
        if step == EXEC:
            return ExecFailed(int(number), os.strerror(int(number)))
        name = errno.errorcode.get(int(number), number)
        failed = SandboxFailed(
            f"cannot {step}: {os.strerror(int(number))} ({name})",
            hint="`rerail doctor` shows which sandbox works here",
        )
        failed.step = step
        return failed
