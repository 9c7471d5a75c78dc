"""Commands in a sandbox: started as ourselves and, where we are root, as a user without rights."""

import ctypes
import os
import pickle
import shutil
import socket
import struct
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rerail.launch.child import Ending, start
from rerail.sandbox.choose import Sandbox

NOBODY = 65534
PR_SET_DUMPABLE = 4
PYTHON = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or ""
"""A Python that any user may execute; the one that runs the tests may be in a private folder."""

Run = Callable[..., tuple[Ending, str]]


def run_in(sandbox: Sandbox, folder: Path, port: int, *words: str) -> tuple[Ending, str]:
    """Run a command in a sandbox; its ending, and what it printed."""
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
    command = ["sh", "-c", 'exec >"$HOME/printed" 2>&1; exec "$@"', "sh", *words]
    with start(
        command, cwd=folder, environment=environment, sandbox=sandbox, ports=[port]
    ) as child:
        for listener in child.listeners:
            _answer(listener)
        ending = child.wait()
    return ending, (folder / "printed").read_text()


def _answer(listener: socket.socket) -> None:
    """Stand for the recorder once, if it is asked at all before the command ends."""

    def serve() -> None:
        listener.setblocking(True)
        listener.settimeout(20)
        with listener:
            try:
                peer, _ = listener.accept()
            except TimeoutError:
                return
            with peer:
                peer.sendall(b"from the recorder")

    threading.Thread(target=serve, daemon=True).start()


def as_nobody(task: Callable[[], Any]) -> Any:
    """Do something in a process without rights; its result or its error comes back."""
    reading, writing = os.pipe()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            # A process that gave rights away hides its /proc from itself; a login undoes that.
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            result = pickle.dumps((task(), ""))
        except BaseException:
            result = pickle.dumps((None, traceback.format_exc()))
        os.write(writing, result)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        result, failure = pickle.loads(stream.read())
    os.waitpid(pid, 0)
    assert not failure, failure
    return result


@pytest.fixture(params=["ourselves", "nobody"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`run(sandbox, *words, port=…)` runs a command as each kind of user."""
    user = request.param
    if user == "nobody" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = tmp_path_factory.mktemp("sandboxed")
    if user == "nobody":
        folder = _folder_of_nobody()
        request.addfinalizer(lambda: shutil.rmtree(folder))

    def go(sandbox: Sandbox, *words: str, port: int = 41234) -> tuple[Ending, str]:
        if user == "nobody":
            return as_nobody(lambda: run_in(sandbox, folder, port, *words))
        return run_in(sandbox, folder, port, *words)

    return go


def _folder_of_nobody() -> Path:
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    return folder


def run_program(instructions: bytes, audit: int, number: int, *arguments: int) -> int:
    """What a filter returns for a call, on a machine that does what the kernel would."""
    words = (*arguments, *[0] * (6 - len(arguments)))
    call = struct.pack("<IIQ6Q", number, audit, 0, *words)
    word, at = 0, 0
    while True:
        code, when, _, value = struct.unpack_from("=HBBI", instructions, at * 8)
        at += 1
        if code == 0x20:
            word = struct.unpack_from("<I", call, value)[0]
        elif code == 0x54:
            word &= value
        elif code == 0x06:
            return value
        else:
            holds = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
            at += when if holds else 0


@pytest.fixture(scope="session")
def run_filter() -> Callable[..., int]:
    """`run_filter(program, architecture, number, *arguments)` gives the filter's verdict."""
    return run_program


@pytest.fixture
def python() -> str:
    """A Python for sandboxed commands."""
    if not PYTHON:
        pytest.skip("no Python that every user may execute")
    return PYTHON


@pytest.fixture
def neighbour() -> Iterator[int]:
    """The port of a server on this machine's loopback that a sandboxed command must not reach."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
