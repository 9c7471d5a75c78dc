"""Landlock: TCP to named ports and no other (landlock(7)), where no namespace can be made.

A rule names a port, not an address, and nothing but TCP; what slips by is the business of
`sockets`. The kernel needs to be 6.7 or newer.
"""

import ctypes
import os
from collections.abc import Sequence
from typing import Final

from rerail.sandbox import kernel

TCP_SINCE: Final = 4
SCOPES_SINCE: Final = 6

_VERSION: Final = 1
_CONNECT_TCP: Final = 2
_RULE_NET_PORT: Final = 2
_SCOPE_ABSTRACT_UNIX_SOCKET: Final = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _NetPort(ctypes.Structure):
    _fields_ = (("allowed_access", ctypes.c_uint64), ("port", ctypes.c_uint64))


def version() -> int:
    """Which Landlock the kernel has (its ABI number); 0 for none."""
    try:
        return kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def allow_only_ports(ports: Sequence[int]) -> None:
    """Restrict this process and all it starts to TCP connections to `ports`. Raises OSError.

    Abstract unix sockets outside are cut off as well where the kernel can do that (6.12).
    """
    scopes = version() >= SCOPES_SINCE
    wanted = _Ruleset(0, _CONNECT_TCP, _SCOPE_ABSTRACT_UNIX_SOCKET if scopes else 0)
    size = ctypes.sizeof(wanted) if scopes else _Ruleset.scoped.offset
    ruleset = kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, _address(wanted), size, 0)
    try:
        for port in ports:
            rule = _NetPort(_CONNECT_TCP, port)
            kernel.syscall(kernel.LANDLOCK_ADD_RULE, ruleset, _RULE_NET_PORT, _address(rule), 0)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.syscall(kernel.LANDLOCK_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _address(value: ctypes.Structure) -> ctypes.c_void_p:
    return ctypes.c_void_p(ctypes.addressof(value))
