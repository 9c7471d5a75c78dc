"""Tells the recorder of TCP connections that this Python makes past it; where the kernel does not.

Hears of each connect() by an audit hook, which stops nothing. An address is told once a process.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Set, Tuple  # noqa: F401 - for the comments that are types

_SECONDS = 2.0


def install(url):
    # type: (str) -> None
    """Begin to hear; `url` is the recorder's, with the name and the word it wants."""
    user, _, place = url.partition("://")[2].rpartition("@")
    host, _, port = place.rpartition(":")
    told = set()  # type: Set[Tuple[int, str, int]]

    def hear(event, arguments):
        # type: (str, Any) -> None
        if event != "socket.connect":
            return
        try:
            connection, address = arguments[0], arguments[1]
            module = sys.modules["_socket"]
            if connection.family not in (module.AF_INET, module.AF_INET6):
                return
            if connection.type != module.SOCK_STREAM or address[1] == int(port):
                return
            key = (os.getpid(), str(address[0]), int(address[1]))
            if key not in told:
                told.add(key)
                _tell(module, user, host, int(port), key)
        except Exception:  # Whatever it is, the agent's connection is not to suffer from it.
            return

    sys.addaudithook(hear)


def _tell(module, user, host, port, key):
    # type: (Any, str, str, int, Tuple[int, str, int]) -> None
    from binascii import b2a_base64

    target = "[%s]:%d" % key[1:] if ":" in key[1] else "%s:%d" % key[1:]
    lines = (
        "CONNECT %s HTTP/1.1" % target,
        "Host: %s" % target,
        "Proxy-Authorization: Basic %s" % b2a_base64(user.encode(), newline=False).decode(),
        "Rerail-Answer: none",
        "Rerail-Passed: %d %s" % (key[0], os.path.basename(sys.executable or "python")),
    )
    telling = module.socket(module.AF_INET, module.SOCK_STREAM)
    try:
        telling.settimeout(_SECONDS)
        telling.connect((host, port))
        telling.send(("\r\n".join(lines) + "\r\n\r\n").encode())
    finally:
        telling.close()
