"""A command whose connections are looked at: all work, those past the recorder are told of."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from rerail.launch.child import Ending, start
from rerail.launch.family import descendants_of
from rerail.sandbox import kernel, lookout, passing, seccomp
from rerail.sandbox.lookout import Lookout, why_not
from rerail.sandbox.machine import here
from rerail.sandbox.passing import Passed
from tests.sandbox.conftest import as_nobody

MACHINE = here()
needs_filter = pytest.mark.skipif(
    MACHINE is None or not seccomp.can_ask(MACHINE), reason="this kernel has no filters that ask"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

CONNECTS = """
import socket, sys
for port in sys.argv[1:]:
    with socket.create_connection(("127.0.0.1", int(port)), 10): pass
"""


@pytest.fixture
def servers() -> Iterator[tuple[int, int]]:
    """The ports of a recorder and of a neighbour."""
    with (
        socket.create_server(("127.0.0.1", 0)) as recorder,
        socket.create_server(("127.0.0.1", 0)) as neighbour,
    ):
        yield recorder.getsockname()[1], neighbour.getsockname()[1]


def looked_at(words: list[str], ports: set[int]) -> tuple[Ending, list[Passed]]:
    """Run a command; what was told of its connections."""
    assert MACHINE is not None
    told: list[Passed] = []
    looking = Lookout(MACHINE, ports, partial(descendants_of, os.getpid()), told.append)
    with start(words, cwd=Path.cwd(), environment=dict(os.environ), lookout=looking) as child:
        ending = child.wait()
        assert looking.join(10)
    assert looking.refusal == ""
    return ending, told


@needs_filter
def test_a_connection_past_the_recorder_is_told_of(servers: tuple[int, int]) -> None:
    recorder, neighbour = servers
    words = [sys.executable, "-c", CONNECTS, str(recorder), *[str(neighbour)] * 3]
    ending, told = looked_at(words, {recorder})
    assert ending == Ending(0)
    assert {passed.target for passed in told} == {f"127.0.0.1:{neighbour}"}
    assert [passed.count for passed in told] == [1, 2, 3]
    assert {(passed.program, passed.way) for passed in told} == {
        (Path(sys.executable).name, "passed by")
    }


@needs_filter
def test_what_a_process_of_the_run_serves_itself_is_inside() -> None:
    program = """
import socket, threading
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname(), 10).close()
"""
    ending, told = looked_at([sys.executable, "-c", program], set())
    assert ending == Ending(0)
    assert [passed.way for passed in told] == ["inside the run"]


@needs_filter
def test_a_refused_connection_and_a_datagram_are_nothing(servers: tuple[int, int]) -> None:
    program = """
import socket
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    print(socket.socket().connect_ex(free.getsockname()))
socket.socket(type=socket.SOCK_DGRAM).connect(("127.0.0.1", 9))
"""
    ending, told = looked_at([sys.executable, "-c", program], set())
    assert (ending, told) == (Ending(0), [])


@needs_filter
def test_a_container_that_lets_no_socket_be_asked_is_told_all_the_same(
    servers: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int, descriptor: int) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(kernel, "copy_of", refuse)
    recorder, neighbour = servers
    program = f"""
import socket
socket.socket(type=socket.SOCK_DGRAM).connect(("127.0.0.1", {neighbour}))
with socket.create_connection(("127.0.0.1", {neighbour}), 10): input()
"""
    told: list[Passed] = []
    heard = threading.Event()

    def tell(passed: Passed) -> None:
        told.append(passed)
        heard.set()

    assert MACHINE is not None
    looking = Lookout(MACHINE, {recorder}, list, tell)
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    words = [
        "sh",
        "-c",
        f'exec "$@" < /proc/self/fd/{reading}',
        "sh",
        sys.executable,
        "-c",
        program,
    ]
    with start(words, cwd=Path.cwd(), environment=dict(os.environ), lookout=looking) as child:
        assert heard.wait(20)
        os.write(writing, b"\n")
        assert child.wait() == Ending(0)
        assert looking.join(10)
    os.close(reading)
    os.close(writing)
    assert [passed.target for passed in told] == [f"127.0.0.1:{neighbour}"]


@needs_filter
def test_something_that_goes_wrong_with_one_call_stops_no_other(
    servers: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(passing, "way_of", broken)
    recorder, neighbour = servers
    words = [sys.executable, "-c", CONNECTS, *[str(neighbour)] * 2, str(recorder)]
    assert looked_at(words, {recorder}) == (Ending(0), [])


@needs_filter
@needs_root
def test_a_user_without_rights_is_looked_at_too() -> None:
    python = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no Python that every user may execute")

    def task() -> tuple[Ending, list[str]]:
        os.chdir("/")
        with socket.create_server(("127.0.0.1", 0)) as neighbour:
            port = neighbour.getsockname()[1]
            ending, told = looked_at([python, "-c", CONNECTS, str(port)], set())
        return ending, [passed.target.partition(":")[0] for passed in told]

    assert as_nobody(task) == (Ending(0), ["127.0.0.1"])


@needs_filter
@needs_root
def test_as_root_nothing_is_given_up_for_it() -> None:
    ending, _ = looked_at(["grep", "-q", "NoNewPrivs:.0", "/proc/self/status"], set())
    assert ending == Ending(0)


@needs_filter
def test_who_goes_on_is_let_go_on(servers: tuple[int, int]) -> None:
    """The kernel refuses a call that nobody is left to look at."""
    recorder = f"""
import os, sys
from functools import partial
from pathlib import Path
from rerail.launch.child import start
from rerail.launch.family import descendants_of
from rerail.sandbox.lookout import Lookout
from rerail.sandbox.machine import here
looking = Lookout(here(), set(), partial(descendants_of, os.getpid()), print)
lasting = [sys.executable, "-c", "input(); import socket; "
    "print(socket.socket().connect_ex(('127.0.0.1', {servers[1]})), flush=True)"]
script = 'exec 3<&0; "$@" <&3 &'
words = ["sh", "-c", script, "sh", *lasting]
with start(words, cwd=Path.cwd(), environment=dict(os.environ), lookout=looking) as child:
    child.wait()
    assert not looking.join(0)
    looking.leave()
os.write(2, b"gone\\n")
os._exit(0)
"""
    with subprocess.Popen(
        [sys.executable, "-c", recorder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        assert process.stderr.readline() == b"gone\n"
        process.wait(20)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"0\n"


@needs_filter
def test_nobody_stands_by_for_a_command_that_ended_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it asked at is closed, and its number may be that of anything: such as the pipe by which
    who stands by would be dismissed, which is then waited for without end."""
    assert MACHINE is not None
    looking = Lookout(MACHINE, set(), partial(descendants_of, os.getpid()), lambda _: None)
    with start(["true"], cwd=Path.cwd(), environment=dict(os.environ), lookout=looking) as child:
        child.wait()
        looking._thread.join(10)
        monkeypatch.setattr(looking._thread, "is_alive", lambda: True)
        assert looking.stand_by() == 0
        looking.leave()


@needs_filter
@pytest.mark.parametrize("user", [0, 65534], ids=["as we are", "nobody"])
def test_who_stands_by_lets_go_on_when_the_first_is_killed(
    servers: tuple[int, int], user: int
) -> None:
    if user and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    recorder = f"""
import os, signal
from pathlib import Path
from rerail.launch.child import start
from rerail.sandbox.lookout import Lookout
from rerail.sandbox.machine import here
import rerail.sandbox.notify  # which nobody else may read
os.chdir("/")
if {user}:
    os.setuid({user})
looking = Lookout(here(), set(), list, print)
script = "read; exec 3<>/dev/tcp/127.0.0.1/{servers[1]} && echo went on"
with start(["bash", "-c", script], cwd=Path("/"), environment=dict(os.environ), lookout=looking):
    assert looking.stand_by()
    os.write(2, b"ready\\n")
    signal.pause()
"""
    with subprocess.Popen(
        [sys.executable, "-c", recorder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        assert process.stderr.readline() == b"ready\n"
        process.kill()
        process.wait(20)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"went on\n"


@needs_filter
def test_a_filter_that_is_refused_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    assert MACHINE is not None
    monkeypatch.setattr(seccomp, "install_asking", refuse)
    looking = Lookout(MACHINE, set(), list, print)
    with start(["true"], cwd=Path.cwd(), environment=dict(os.environ), lookout=looking) as child:
        assert child.wait() == Ending(0)
    assert looking.refusal == "Operation not permitted"
    assert looking.join(0)


@needs_filter
def test_a_command_that_cannot_start_says_so_all_the_same() -> None:
    from rerail.errors import CommandNotFound

    with pytest.raises(CommandNotFound):
        looked_at(["rerail-test-no-such-program"], set())
    assert not [thread for thread in threading.enumerate() if thread.name == "starts"]


@needs_filter
@pytest.mark.parametrize("name", lookout.NEEDED_RIGHTS)
def test_users_who_have_sudo_keep_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).touch(mode=0o755)
    environment = {"PATH": f"/nowhere:{tmp_path}"}
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert name in why_not(environment, None)
    assert why_not(environment, True) == ""
    assert why_not({"PATH": "/nowhere"}, None) == ""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert why_not(environment, None) == ""


def test_it_is_not_done_where_it_is_not_wanted_or_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert why_not({}, False) == "not asked for"
    monkeypatch.setattr(lookout, "here", lambda: None)
    assert why_not({}, True) == "this kernel cannot tell"
