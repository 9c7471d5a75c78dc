"""How the kernel asks a supervisor about a call, and is answered (seccomp_unotify(2)).

Takes no decisions. Reads the memory of a process that waits, which may end at any moment.
"""

import errno
import fcntl
import os
import struct
from typing import Final

from msgspec import Struct

from rerail.sandbox.machine import Architecture

_RECEIVE: Final = 0xC0502100
_ANSWER: Final = 0xC0182101
_STILL_VALID: Final = 0x40082102
_GO_ON: Final = 1
_NOTIFICATION: Final = struct.Struct("=QIIiIQ6Q")
_RESPONSE: Final = struct.Struct("=QqiI")

LONGEST_ADDRESS: Final = 128
"""The size of struct sockaddr_storage."""


class Call(Struct, frozen=True):
    """A call that waits for a decision: whose it is, which, on which architecture, with what."""

    pid: int
    number: int
    audit: int
    arguments: tuple[int, ...]
    identity: int = 0

    @property
    def descriptor(self) -> int:
        """The first argument, where it is an open file: an int, of which only half the word is."""
        return self.arguments[0] & 0xFFFFFFFF


def receive(descriptor: int) -> Call:
    """The next call that waits. Raises OSError where its caller is gone."""
    # "The memory must be zeroed before the call" (seccomp_unotify(2)).
    received = bytearray(_NOTIFICATION.size)
    fcntl.ioctl(descriptor, _RECEIVE, received)
    identity, pid, _, number, audit, _, *arguments = _NOTIFICATION.unpack(received)
    return Call(pid, number, audit, tuple(arguments), identity)


DONE: Final = -1
"""In place of an error number: the call has been made in its caller's stead, and returns 0."""


def answer(descriptor: int, call: Call, error: int = 0) -> None:
    """Let a call fail with an error number, or go on. Raises OSError where its caller is gone."""
    words = (call.identity, 0, 0 if error == DONE else -error, 0 if error else _GO_ON)
    fcntl.ioctl(descriptor, _ANSWER, bytearray(_RESPONSE.pack(*words)))


def let_go_on(descriptor: int) -> None:
    """Let the next call go on, whatever it is. Raises OSError where its caller is gone."""
    answer(descriptor, receive(descriptor))


def check_waiting(descriptor: int, call: Call) -> None:
    """A process that ended may have left its number to another: ask after reading of it.

    Raises OSError where the call waits no more.
    """
    fcntl.ioctl(descriptor, _STILL_VALID, struct.pack("=Q", call.identity))


def address_of(call: Call, machine: Architecture) -> bytes:
    """The socket address that a waiting call names, from its process's memory; may be empty.

    Raises OSError.
    """
    arguments = call.arguments
    if call.number in (machine.sendto, machine.foreign_sendto):
        place, size = arguments[4], arguments[5]
    elif call.audit == machine.audit and call.number in (machine.sendmsg, machine.sendmmsg):
        # struct msghdr begins with its address, struct mmsghdr with a struct msghdr (sendmmsg(2)).
        place, size = _words("=QI", call.pid, arguments[1])
    else:
        place, size = arguments[1], arguments[2]
    if call.audit != machine.audit and call.number == machine.foreign_multiplexer:
        _, place, size = _words("<3I", call.pid, place)
    if not place:
        return b""
    return memory_of(call.pid, place, min(size & 0xFFFFFFFF, LONGEST_ADDRESS))


def _words(form: str, pid: int, place: int) -> tuple[int, ...]:
    found = memory_of(pid, place, struct.calcsize(form))
    if len(found) < struct.calcsize(form):
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    return struct.unpack(form, found)


def memory_of(pid: int, place: int, size: int) -> bytes:
    """So many bytes of a process's memory, at least one. Raises OSError."""
    if place >= 1 << 63:  # no place that a process may read, and none that pread takes
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = os.pread(memory, size, place)
    finally:
        os.close(memory)
    if size and not found:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    return found
