"""A watched command: its own sockets work, those of this machine are out of reach."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.launch.child import Ending, start
from rerail.sandbox import choose, watch
from rerail.sandbox.levels import UNIX_SOCKET_FILTER, Refused
from rerail.sandbox.machine import here
from rerail.sandbox.network import NetworkNamespace
from rerail.sandbox.view import Bind, View

Run = Callable[..., tuple[Ending, str]]

pytestmark = pytest.mark.skipif(
    choose.refusal(NetworkNamespace()) is not None,
    reason="this machine allows no watched namespace",
)

TRIES = """
import socket, sys
own = socket.socket(socket.AF_UNIX)
own.bind("own")
own.listen()
def tried(action):
    try:
        action()
        print("reached", end=" ")
    except OSError as error:
        print(error.errno, end=" ")
engine = sys.argv[1]
tried(lambda: socket.socket(socket.AF_UNIX).connect(engine))
tried(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", engine))
tried(lambda: socket.socket(socket.AF_UNIX).connect("own"))
tried(lambda: socket.socket(socket.AF_UNIX).connect("nothing"))
tried(lambda: socket.create_connection(("127.0.0.1", 41234), 5))
"""


@pytest.fixture
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service of this machine that every user may reach."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "engine"))
        (folder / "engine").chmod(0o777)
        server.listen()
        yield str(folder / "engine")
    shutil.rmtree(folder)


def test_services_of_this_machine_are_refused_and_everything_else_works(
    run: Run, python: str, engine: str
) -> None:
    ending, text = run(NetworkNamespace(), python, "-c", TRIES, engine)
    assert (ending, text.split()) == (Ending(0), ["111", "111", "reached", "2", "reached"])


def test_without_the_watch_such_a_service_is_reached(run: Run, python: str, engine: str) -> None:
    """The reason for it all."""
    unwatched = NetworkNamespace(lacking={UNIX_SOCKET_FILTER: "a test"})
    program = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    assert run(unwatched, python, "-c", program, engine)[0] == Ending(0)
    assert unwatched.refused == ()


def test_a_socket_that_was_allowed_is_reached(run: Run, python: str, engine: str) -> None:
    sandbox = NetworkNamespace(sockets=[Path(engine), Path("/not/there")])
    ending, text = run(sandbox, python, "-c", TRIES, engine)
    assert (ending, text.split()[0]) == (Ending(0), "reached")


def test_it_is_the_socket_that_counts_not_its_name(run: Run, python: str, engine: str) -> None:
    allowed = Path(engine).parent / "another"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(allowed))
        view = View.of(binds=[Bind(Path(engine), allowed)])
        _, text = run(NetworkNamespace(view, sockets=[allowed]), python, "-c", TRIES, str(allowed))
    assert text.split()[0] == "111"


def test_what_was_refused_is_told(tmp_path: Path, python: str, engine: str) -> None:
    sandbox = NetworkNamespace()
    program = "import socket, sys; socket.socket(socket.AF_UNIX).connect_ex(sys.argv[1])"
    words = [python, "-c", program, engine]
    environment = {"PATH": os.environ["PATH"]}
    with start(
        words, cwd=tmp_path, environment=environment, sandbox=sandbox, ports=[4321]
    ) as child:
        child.wait()
        name = Path(python).name
        assert sandbox.refused == (Refused("unix socket", engine, name, child.pid),)
        assert child.listeners
        child.listeners[0].close()


def test_the_watch_ends_with_the_last_process_under_it(tmp_path: Path, python: str) -> None:
    sandbox = NetworkNamespace()
    environment = {"PATH": os.environ["PATH"]}
    with start(
        ["true"], cwd=tmp_path, environment=environment, sandbox=sandbox, ports=[4321]
    ) as child:
        child.wait()
        assert child.listeners
        child.listeners[0].close()
    found = sandbox._watch
    assert found is not None
    found.join(10)
    assert not found._thread.is_alive()


def test_who_outlives_a_replay_is_still_answered(tmp_path: Path, python: str) -> None:
    replaying = f"""
import os, sys
from pathlib import Path
from rerail.launch.child import start
from rerail.sandbox.machine import here
from rerail.sandbox.network import NetworkNamespace
from rerail.sandbox.view import View
sandbox = NetworkNamespace(View.of(writable=[Path("{tmp_path}")]))
lasting = ["{python}", "-c", "import sys; sys.stdin.readline(); open('made', 'w'); "
    "import socket; print(socket.socket().connect_ex(('192.0.2.1', 443)), flush=True)"]
words = ["sh", "-c", 'exec 3<&0; "$@" <&3 &', "sh", *lasting]
with start(words, cwd=Path("{tmp_path}"), environment=dict(os.environ), sandbox=sandbox,
           ports=[4321]) as child:
    child.wait()
    sandbox.leave()
os.write(2, b"gone\\n")
os._exit(0)
"""
    with subprocess.Popen(
        [sys.executable, "-c", replaying],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        assert process.stderr.readline() == b"gone\n"
        process.wait(20)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline().strip() == b"101"
    assert (tmp_path / "made").exists()


def test_a_call_that_cannot_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, run: Run, python: str, engine: str
) -> None:
    def unreadable(call: object, machine: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(watch.notify, "address_of", unreadable)
    _, text = run(NetworkNamespace(), python, "-c", TRIES, engine)
    assert text.split() == ["13"] * 5


def test_many_threads_connect_at_once(run: Run, python: str) -> None:
    program = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0), backlog=200)
reached = []
def go():
    with socket.create_connection(server.getsockname(), 20):
        reached.append(1)
threads = [threading.Thread(target=go) for _ in range(100)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(reached))
"""
    assert run(NetworkNamespace(), python, "-c", program) == (Ending(0), "100\n")


def test_nobody_answers_at_a_number_that_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last process may end while we leave: the number may then be that of anything."""
    machine = here()
    assert machine is not None
    asks, asked = os.pipe()
    found = watch.Watch(asks, machine)
    found.start()
    os.close(asked)
    found.join(10)
    monkeypatch.setattr(found._thread, "is_alive", lambda: True)
    behind: list[int] = []
    monkeypatch.setattr(watch, "stay_behind", lambda descriptor, _: behind.append(descriptor))
    found.leave()
    assert behind == []
