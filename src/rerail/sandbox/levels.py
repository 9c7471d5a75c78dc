"""What keeps a replayed command away from the world, as data: layers, and the level they add up to.

Knows no system call. A layer that is not there is named, with what it would have stopped.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

Level = Literal["contained", "no network", "not contained"]
"""From the strongest to the weakest. A replay is trusted from "no network" on."""


Attempt = Literal["tcp", "udp", "name lookup", "unix socket", "raw socket", "write"]
"""What a sandbox keeps a command from."""

NOT_ASKED: Final = "nobody asked for it"


class Refused(Struct, frozen=True):
    """Something the command tried in vain: what, with what target, which program, how often.

    `pid` is the process that tried it first.
    """

    what: Attempt
    target: str
    program: str
    pid: int
    count: int = 1


class Layer(Struct, frozen=True):
    """One mechanism, what it stops, and what brings it where it is missing."""

    name: str
    stops: str
    mend: str


_NAMESPACES: Final = (
    "allow user namespaces: sysctl user.max_user_namespaces, on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0, in a container its seccomp profile"
)
_FILTERS: Final = "a kernel with seccomp notifications (Linux 5.6), x86-64, arm64 or riscv64"

NETWORK_NAMESPACE: Final = Layer(
    "network namespace",
    "TCP, UDP, DNS and abstract unix sockets to anything but the recorder",
    _NAMESPACES,
)
TCP_RULES: Final = Layer(
    "landlock tcp rules",
    "TCP to any port but the recorder's",
    "Linux 6.7 with Landlock (`lsm=` of the kernel's command line)",
)
SOCKET_FILTER: Final = Layer(
    "socket filter",
    "UDP, DNS, raw and MPTCP sockets, and sockets made through io_uring",
    _FILTERS,
)
UNIX_SOCKET_FILTER: Final = Layer(
    "unix socket filter",
    "services of this machine that listen on a path (container engine, message bus)",
    _FILTERS,
)
WRITE_RULES: Final = Layer(
    "write rules",
    "writes outside the working folder, temporary folders and caches",
    "Linux 5.12 with namespaces, or Landlock (Linux 6.2)",
)
READ_RULES: Final = Layer(
    "landlock read rules",
    "reading what is hidden from it, and looking into or signalling processes outside",
    "Linux 6.2 with Landlock (`lsm=` of the kernel's command line)",
)
CALL_FILTER: Final = Layer(
    "call filter",
    "other processes' limits and priorities, typing into terminals, namespaces, shared memory",
    _FILTERS,
)
PRIVATE_PATHS: Final = Layer(
    "private mounts",
    "a working path other than the recorded one",
    _NAMESPACES,
)


class MissingLayer(Struct, frozen=True):
    """A layer that does not hold here, and why."""

    layer: Layer
    why: str


class Containment(Struct, frozen=True):
    """The layers that hold, and those that do not."""

    layers: tuple[Layer, ...] = ()
    missing: tuple[MissingLayer, ...] = ()

    @classmethod
    def of(cls, wanted: Sequence[Layer], lacking: Mapping[Layer, str]) -> "Containment":
        """Of the layers wanted, those that hold, and why the others do not."""
        return cls(
            tuple(layer for layer in wanted if layer not in lacking),
            tuple(MissingLayer(layer, lacking[layer]) for layer in wanted if layer in lacking),
        )

    @property
    def level(self) -> Level:
        """What the layers add up to."""
        held = frozenset(self.layers)
        offline = NETWORK_NAMESPACE in held or held >= {TCP_RULES, SOCKET_FILTER}
        if not offline:
            return "not contained"
        return "contained" if held >= {UNIX_SOCKET_FILTER, WRITE_RULES} else "no network"

    def as_data(self) -> dict[str, Any]:
        """For a report: names, and what each missing layer lets through."""
        return {
            "level": self.level,
            "layers": [layer.name for layer in self.layers],
            "missing": [
                {"layer": gap.layer.name, "lets_through": gap.layer.stops, "why": gap.why}
                for gap in self.missing
            ],
        }
