"""Landlock (landlock(7)): TCP to named ports, writing to named folders, reading all but some.

A rule names a port, not an address, and nothing but TCP; what slips by is the business of
`sockets`. The kernel needs to be 6.7 or newer. Below these rules nothing can be mounted.
"""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rerail.sandbox import kernel

FILES_SINCE: Final = 3
TCP_SINCE: Final = 4
SCOPES_SINCE: Final = 6

_VERSION: Final = 1
_BIND_TCP: Final = 1
_CONNECT_TCP: Final = 2
_RULE_PATH_BENEATH: Final = 1
_RULE_NET_PORT: Final = 2
_SCOPE_ABSTRACT_UNIX_SOCKET: Final = 1
_SCOPE_SIGNAL: Final = 2


_WRITE_FILE: Final = 1 << 1
_TRUNCATE: Final = 1 << 14
_TO_A_FILE: Final = _WRITE_FILE | _TRUNCATE
_CHANGES: Final = _TO_A_FILE | sum(1 << right for right in range(4, 14))
"""Writing, truncating, removing, making any kind of entry, and moving between folders."""

_EXECUTE: Final = 1 << 0
_READ_DIR: Final = 1 << 3
_READS: Final = _EXECUTE | (1 << 2) | _READ_DIR

_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "fd")
_ALWAYS: Final = tuple(Path("/dev", name) for name in _DEVICES)
"""Where files that are there may be written, and none be made."""

_PROCESSES: Final = Path("/proc")
_SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a place, not a file of ours
"""Others' are there, too, and the machine's settings: not for a plane."""


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class _NetPort(ctypes.Structure):
    _fields_ = (("allowed_access", ctypes.c_uint64), ("port", ctypes.c_uint64))


def version() -> int:
    """Which Landlock the kernel has (its ABI number); 0 for none."""
    try:
        return kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def restrict(
    ports: Sequence[int] | None,
    writable: Sequence[Path] | None,
    readable: Sequence[Path] | None = None,
) -> None:
    """Restrict this process and all it starts: TCP to `ports`, writing in `writable`.

    `None` is no rule: all may be connected to, written, read and executed. Abstract unix sockets
    outside are cut off as well where the kernel can do that (6.12). With a rule for reading so are
    signals to outside, nobody's memory or environment outside can be looked into whatever the rules
    are, and no TCP port is bound. Nothing of `/proc` and of shared memory is written then: a rule
    for a process's own folder there would not hold for those it starts, and one for all of it
    would hold for the machine's settings. Raises OSError.
    """
    known = version()
    handled = (0 if writable is None else _CHANGES) | (0 if readable is None else _READS)
    scopes = _SCOPE_ABSTRACT_UNIX_SOCKET | (_SCOPE_SIGNAL if readable is not None else 0)
    tcp = _CONNECT_TCP | (_BIND_TCP if readable is not None else 0)
    tcp = tcp if ports is not None and known >= TCP_SINCE else 0
    wanted = _Ruleset(handled, tcp, scopes if known >= SCOPES_SINCE else 0)
    size = ctypes.sizeof(wanted) if known >= SCOPES_SINCE else _Ruleset.scoped.offset
    ruleset = kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, _address(wanted), size, 0)
    try:
        for port in ports or ():
            rule = _NetPort(_CONNECT_TCP, port)
            kernel.syscall(kernel.LANDLOCK_ADD_RULE, ruleset, _RULE_NET_PORT, _address(rule), 0)
        if writable is not None:
            _allow_writing(ruleset, writable, shared=readable is None)
        for path in readable or ():
            _allow_beneath(ruleset, path, _READS if path.is_dir() else _READS & ~_READ_DIR)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.syscall(kernel.LANDLOCK_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow_writing(ruleset: int, writable: Sequence[Path], *, shared: bool) -> None:
    for path in (*_ALWAYS, *([_PROCESSES] if shared else [])):
        _allow_beneath(ruleset, path, _TO_A_FILE)
    for path in (*writable, *([_SHARED_MEMORY] if shared else [])):
        _allow_beneath(ruleset, path, _CHANGES if path.is_dir() else _TO_A_FILE)


def _allow_beneath(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # What is not there needs no rule.
    try:
        rule = _PathBeneath(rights, descriptor)
        kernel.syscall(kernel.LANDLOCK_ADD_RULE, ruleset, _RULE_PATH_BENEATH, _address(rule), 0)
    finally:
        os.close(descriptor)


def _address(value: ctypes.Structure) -> ctypes.c_void_p:
    return ctypes.c_void_p(ctypes.addressof(value))
