"""A network namespace of the command's own, in which nothing listens but the recorder.

The child makes the namespace between fork and exec, listens inside it and hands the socket to its
parent: a listening socket stays in the namespace it was made in, wherever it is accepted on. So
there is no relay, no virtual cable, and no privilege needed. Knows nothing of proxies.
"""

import fcntl
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from rerail.sandbox import kernel, mounts, neighbours, seccomp
from rerail.sandbox.handshake import Handshake, SandboxFailed
from rerail.sandbox.levels import (
    NETWORK_NAMESPACE,
    NOT_ASKED,
    PRIVATE_PATHS,
    UNIX_SOCKET_FILTER,
    WRITE_RULES,
    Containment,
    Layer,
    Refused,
)
from rerail.sandbox.machine import here
from rerail.sandbox.view import View
from rerail.sandbox.watch import WATCHING, Watch

SEPARATING: Final = "make a user and network namespace"
OF_STEP: Final = {
    mounts.PLACING: PRIVATE_PATHS,
    mounts.CLOSING: WRITE_RULES,
    WATCHING: UNIX_SOCKET_FILTER,
}
"""The layer that a step puts up; where the step fails, the namespace can do without."""

SIOCGIFFLAGS: Final = 0x8913
SIOCSIFFLAGS: Final = 0x8914
IFF_UP: Final = 1

_UNSHARED: Final = b"u"
_MAPPED: Final = b"m"


class NetworkNamespace:
    """A sandbox whose only way out are listeners on 127.0.0.1 inside it, at ports of our choice.

    Every port is free in a new namespace, so the environment can be written before it exists.
    Services that listen on a path are out of reach too (`neighbours`), save `sockets`, and the
    command sees the file system as `view` says (`mounts`). `lacking` says why a layer cannot be put
    up here.
    """

    listens_inside = True

    def __init__(
        self,
        view: View | None = None,
        *,
        sockets: Sequence[Path] = (),
        lacking: Mapping[Layer, str] | None = None,
    ) -> None:
        lacking = dict(lacking or {})
        self._architecture = here()
        if self._architecture is None:
            lacking.setdefault(UNIX_SOCKET_FILTER, "not known for this kind of machine")
        self._machine = None if UNIX_SOCKET_FILTER in lacking else self._architecture
        self._sockets = tuple(sockets)
        self._watch: Watch | None = None
        view = view or View()
        if view.writable is None:
            lacking.setdefault(WRITE_RULES, NOT_ASKED)
        wanted = [NETWORK_NAMESPACE, UNIX_SOCKET_FILTER, WRITE_RULES]
        if view.binds:
            wanted.append(PRIVATE_PATHS)
        view = view.unplaced() if PRIVATE_PATHS in lacking else view
        self.view = view.unruled() if WRITE_RULES in lacking else view
        self._rules_writes = self.view.writable is not None
        self.containment = Containment.of(wanted, lacking)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The connections to services of this machine that the command tried in vain."""
        return tuple(self._watch.refused) if self._watch else ()

    def enter(self, parent: Handshake, ports: Sequence[int]) -> None:
        """In the child: make the namespace, listen in it, hand the listeners over."""
        mounting = 0 if self.view.changes_nothing else kernel.CLONE_NEWNS
        with parent.step(SEPARATING):
            kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET | mounting)
        parent.say(_UNSHARED)
        parent.expect(_MAPPED)
        with parent.step("bring up the loopback interface"):
            _bring_up_loopback()
        with ExitStack() as stack:
            listeners: list[socket.socket] = []
            for port in ports:
                with parent.step(f"listen on port {port} in the namespace"):
                    listeners.append(stack.enter_context(_listener(port)))
            if listeners:
                parent.send_descriptors(*(listener.fileno() for listener in listeners))
        if mounting:
            mounts.enter(self.view, parent, self._architecture)
        if self._machine is not None:
            with parent.step(WATCHING):
                filter_ = neighbours.program(self._machine, writes=self._rules_writes)
                asks = seccomp.install_supervised(filter_, self._machine)
                # Handing it over by a message would have to wait for whoever it is handed to.
                parent.offer_descriptor(asks)
                os.close(asks)
        if self._rules_writes:
            with parent.step(mounts.CLOSING):
                # Root may give files away here, but not undo what was mounted.
                kernel.prctl(kernel.PR_CAPBSET_DROP, kernel.CAP_SYS_ADMIN)

    def admit(self, child: Handshake, pid: int, ports: Sequence[int]) -> list[socket.socket]:
        """In the parent: name the child's users, take its listeners. Raises `SandboxFailed`."""
        child.expect(_UNSHARED)
        try:
            _map_users(pid)
        except OSError as error:
            raise SandboxFailed(
                f"cannot name the users of the command's namespace: {error.strerror}",
                hint="start rerail as the user who is to run the command",
            ) from error
        child.say(_MAPPED)
        handed_over = child.receive_descriptors() if ports else []
        listeners = [socket.socket(fileno=received) for received in handed_over]
        for listener in listeners:
            listener.setblocking(False)
        if self._machine is not None:
            try:
                self._watch = Watch(
                    child.take_descriptor(pid),
                    self._machine,
                    allowed=self._sockets,
                    free=self.view.free,
                )
            except SandboxFailed:
                for listener in listeners:
                    listener.close()
                raise
            self._watch.start()
        return listeners

    def leave(self) -> None:
        """Have somebody answer for those that outlive this process."""
        if self._watch is not None:
            self._watch.leave()


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", port))
    listener.listen(512)
    return listener


def _map_users(pid: int) -> None:
    """Give the new user namespace its users: all of ours where that is allowed, else ourselves.

    Without a map the command would see itself as `nobody` (user_namespaces(7)). The full map keeps
    chown and su working for root; a map of one id needs no privilege, but then setgroups(2) has to
    be given up first.
    """
    folder = Path(f"/proc/{pid}")
    try:
        (folder / "uid_map").write_text(_same_ids(Path("/proc/self/uid_map")))
        (folder / "gid_map").write_text(_same_ids(Path("/proc/self/gid_map")))
    except PermissionError:
        (folder / "setgroups").write_text("deny")
        # A namespace's map can be written once, so it may be that one of them is there already.
        with suppress(PermissionError):
            (folder / "uid_map").write_text(f"{os.geteuid()} {os.geteuid()} 1\n")
        (folder / "gid_map").write_text(f"{os.getegid()} {os.getegid()} 1\n")


def _same_ids(own_map: Path) -> str:
    """A map under which every id that exists for us is called the same inside."""
    ranges = [line.split() for line in own_map.read_text().splitlines()]
    return "".join(f"{first} {first} {count}\n" for first, _, count in ranges)
