"""Ports of this machine that stand for origins: how a tape names them, and which requests mean one.

A client that is given such a port as its base URL comes to it directly, or by way of the proxy port
where it obeys proxy variables as well: it means the same origin both times. Opens no socket.
"""

from collections.abc import Mapping
from typing import Final

from rerail.wire.forms import split_url

Origin = tuple[str, str, int]
"""Scheme, host and port."""

MOST: Final = 60
"""How many of them a replay stands for: a tape may come from anyone."""

_WORD: Final = "reverse "
_OUR_NAMES: Final = ("127.0.0.1", "localhost")


def described(reverse: Mapping[int, Origin]) -> dict[str, str]:
    """What a tape's first event says of them, in its `capture`."""
    return {
        f"{_WORD}{port}": f"{scheme}://{f'[{host}]' if ':' in host else host}:{origin_port}"
        for port, (scheme, host, origin_port) in reverse.items()
    }


def recorded(capture: Mapping[str, str]) -> dict[int, Origin]:
    """The same, read back; what cannot be read is left out, and all beyond `MOST`."""
    found: dict[int, Origin] = {}
    for name, url in capture.items():
        port = name.removeprefix(_WORD)
        if name.startswith(_WORD) and port.isdecimal() and 0 < int(port) < 1 << 16:
            origin = split_url(url)
            if origin is not None and len(found) < MOST:
                found[int(port)] = origin
    return found


def meant(reverse: Mapping[int, Origin], host: str, port: int) -> Origin | None:
    """The origin that a request to this address means, None where it means the address itself."""
    return reverse.get(port) if host in _OUR_NAMES else None
