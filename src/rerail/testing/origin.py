"""A scripted origin: a loopback server that says exactly the bytes a test gives it, when it says.

It must not know HTTP beyond its readers' convenience: a script may break any rule of any protocol.

    script = [READ, b"HTTP/1.1 200 OK\\r\\n\\r\\n", b"one ", 0.1, b"two", RESET]
    with Origin(script, tls=authority.leaf("api.example.com")) as origin:
        ...  # connect to origin.address
    assert origin.connections == 1
"""

import contextlib
import enum
import errno
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from rerail.clock import RunClock
from rerail.testing.ca import Leaf
from rerail.testing.connection import Connection, Request, ScriptStopped
from rerail.testing.tls import ServerTLS

BACKLOG: Final = 512
JOIN_NANOSECONDS: Final = 10 * 10**9


class Act(enum.Enum):
    """What a script does besides sending bytes and pausing."""

    READ = "read one request whole"
    READ_HEAD = "read the head of a request, leaving its body unread"
    HOLD = "keep the connection open, saying nothing, until somebody closes it"
    CLOSE = "close in good order"
    CUT = "close with a bare FIN, without TLS close_notify"
    RESET = "close with a RST"


READ: Final = Act.READ
READ_HEAD: Final = Act.READ_HEAD
HOLD: Final = Act.HOLD
CLOSE: Final = Act.CLOSE
CUT: Final = Act.CUT
RESET: Final = Act.RESET

Step = bytes | float | Act | threading.Event
"""Bytes are sent, a number is a pause in seconds, an event is waited for, an `Act` is done."""

Behaviour = Callable[[Connection], None]
Script = Sequence[Step] | Behaviour


class Origin:
    """Plays the n-th script to the n-th connection, the last one to all that follow.

    A script that ends closes its connection in good order. What goes wrong inside a script (save
    a peer that went away) is raised again when the origin closes, so that no test passes by it.

    Args:
        scripts: One or more scripts; a behaviour is a function that is given the connection.
        tls: A leaf or a server context; plain where not given.
        host: A loopback address, `127.0.0.1` or `::1`.
        port: 0 lets the system choose.
        keep: Bytes of each connection that `received` keeps; 0 keeps nothing of connections that
            have ended, nor their requests: for a server that runs long.
    """

    def __init__(
        self,
        *scripts: Script,
        tls: Leaf | ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        keep: int = 1 << 20,
    ) -> None:
        if not scripts:
            raise ValueError("an origin needs at least one script")
        self.clock = RunClock()
        self.handshake_failures: list[str] = []
        self._behaviours = [_behaviour(script) for script in scripts]
        context = tls.server_context() if isinstance(tls, Leaf) else tls
        self._tls = ServerTLS(context) if context else None
        self._keep = keep
        self._closing = threading.Event()
        self._changed = threading.Condition()
        self._connections: list[Connection] = []
        self._requests: list[Request] = []
        self._faults: list[Exception] = []
        self._running: dict[Connection, threading.Thread] = {}
        self._accepted = 0
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        bound = self._listener.getsockname()
        self.address: tuple[str, int] = (bound[0], bound[1])
        self._acceptor = threading.Thread(target=self._accept, name="origin", daemon=True)

    @property
    def host(self) -> str:
        """The address listened on, as text."""
        return self.address[0]

    @property
    def port(self) -> int:
        """The port listened on."""
        return self.address[1]

    @property
    def url(self) -> str:
        """The origin's address as a URL without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    @property
    def connections(self) -> int:
        """How many connections were accepted, those that failed their handshake included."""
        return self._accepted

    @property
    def each_connection(self) -> list[Connection]:
        """The connections in the order in which they were accepted."""
        return list(self._connections)

    @property
    def received(self) -> list[bytes]:
        """What each connection sent (decrypted), up to `keep` bytes of it."""
        return [bytes(connection.received) for connection in self._connections]

    @property
    def requests(self) -> list[Request]:
        """The requests of all connections, in the order in which their heads arrived."""
        return list(self._requests)

    def wait_until(self, condition: Callable[["Origin"], bool], *, seconds: float = 10.0) -> None:
        """Return when the condition holds; it is looked at whenever something arrives.

        Raises:
            TimeoutError: It did not hold in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self), seconds):
                raise TimeoutError("the origin never saw what the test waits for")

    def start(self) -> Self:
        """Begin to accept; `with` does it too."""
        self._acceptor.start()
        return self

    def close(self) -> None:
        """End every script and connection, and wait for their threads."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._wake_acceptor()
        self._listener.close()
        running = list(self._running.items())
        for connection, _ in running:
            connection.interrupt()
        for connection, thread in running:
            self._end(connection, thread)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is None and self._faults:
            raise self._faults[0]

    def _end(self, connection: Connection, thread: threading.Thread) -> None:
        deadline = self.clock.at() + JOIN_NANOSECONDS
        while thread.is_alive() and self.clock.at() < deadline:
            thread.join(0.05)
            connection.interrupt()  # again: the first can come before the socket is listened to

    def _wake_acceptor(self) -> None:
        # Closing a listener does not wake its accept() on every system; a connection does.
        if self._acceptor.is_alive():
            with contextlib.suppress(OSError):
                socket.create_connection(self.address, 1.0).close()
            self._acceptor.join()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError as error:
                if error.errno in (errno.ECONNABORTED, errno.EMFILE):
                    continue
                return
            if self._closing.is_set():
                peer.close()
                return
            self._begin(peer)

    def _begin(self, peer: socket.socket) -> None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._accepted += 1
        connection = Connection(
            peer,
            number=self._accepted,
            closing=self._closing,
            clock=self.clock,
            keep=self._keep,
            noticed=self._notice,
        )
        thread = threading.Thread(target=self._play, args=(connection,), daemon=True)
        self._running[connection] = thread
        if self._keep:
            self._connections.append(connection)
        self._notice()
        thread.start()

    def _play(self, connection: Connection) -> None:
        behaviour = self._behaviours[min(connection.number, len(self._behaviours)) - 1]
        try:
            if self._secure(connection):
                behaviour(connection)
        except ScriptStopped:
            pass
        except Exception as error:
            self._faults.append(error)
        finally:
            connection.close()
            self._running.pop(connection, None)
            self._notice()

    def _secure(self, connection: Connection) -> bool:
        if self._tls is None:
            return True
        try:
            connection.secure(self._tls)
        except OSError as error:
            self.handshake_failures.append(str(error))
            return False
        return True

    def _notice(self, request: Request | None = None) -> None:
        with self._changed:
            if request is not None and self._keep:
                self._requests.append(request)
            self._changed.notify_all()


def _behaviour(script: Script) -> Behaviour:
    if callable(script):
        return script
    steps = tuple(script)

    def play(connection: Connection) -> None:
        for step in steps:
            _take(step, connection)

    return play


def _take(step: Step, connection: Connection) -> None:
    match step:
        case bytes():
            connection.send(step)
        case int() | float():
            connection.pause(step)
        case threading.Event():
            connection.wait_for(step)
        case Act.READ:
            if (request := connection.read_request()) is not None:
                request.read()
        case Act.READ_HEAD:
            connection.read_request()
        case Act.HOLD:
            connection.hold()
        case Act.CLOSE:
            connection.close()
        case Act.CUT:
            connection.cut()
        case Act.RESET:
            connection.reset()
