"""Start one process, in a sandbox or not. Waiting for it and signals are not known here.

Without a sandbox the system's own posix_spawn is the fastest; with one the child has work to do
between fork and exec. Descriptors of ours are never inherited (PEP 446), those that were handed to
us to pass on (a shell's `3>file`, make's job server) are.
"""

import errno
import os
import signal
import socket
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from msgspec import Struct

from rerail.errors import UsageProblem
from rerail.launch.command import cannot_start, find_program, through_shell

if TYPE_CHECKING:
    from rerail.sandbox.choose import Sandbox
    from rerail.sandbox.handshake import Handshake

PR_SET_PDEATHSIG: Final = 1

IGNORED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""An ignored signal stays ignored over exec, and few programs expect that."""


class Spawned(Struct, frozen=True):
    """A process, and the listening sockets that its sandbox made for the recorder, if it did."""

    pid: int
    listeners: tuple[socket.socket, ...] = ()


class Command(Struct, frozen=True):
    """What to execute: the words as typed, the program they mean, where, with what environment.

    `streams` are the descriptors to be its standard input, output and error, in a session of its
    own; none: it has ours, and our terminal.
    """

    words: Sequence[str]
    program: str
    cwd: Path
    environment: Mapping[str, str]
    streams: Sequence[int] = ()


def spawn(
    words: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    sandbox: "Sandbox | None" = None,
    ports: Sequence[int] = (),
    streams: Sequence[int] = (),
) -> Spawned:
    """Start a command; `ports` are the recorder's, for the sandbox; `streams` as in `Command`.

    Raises `CommandNotFound`, `CommandNotExecutable`, `UsageProblem` (a `cwd` that is no folder),
    `SandboxFailed`.
    """
    if not words:
        raise UsageProblem("there is no command", hint="write the command after `--`")
    view = sandbox.view if sandbox else None
    if not (view.outside(cwd) if view else cwd).is_dir():
        raise UsageProblem(f"there is no folder `{cwd}`", hint="start from a folder that exists")
    program = find_program(words[0], environment, cwd, found_at=view.outside if view else None)
    command = Command(words, program, cwd, environment, streams)
    try:
        if sandbox is None and not streams and _is_current(cwd):
            return Spawned(_spawn_here(command))
        return _fork(command, sandbox, ports)
    except OSError as error:
        raise cannot_start(words[0], program, error) from error


def _is_current(folder: Path) -> bool:
    try:
        return folder == Path.cwd()
    except FileNotFoundError:
        return False


def _spawn_here(command: Command) -> int:
    words = list(command.words)
    try:
        return os.posix_spawn(
            command.program, words, command.environment, setsigdef=IGNORED_BY_PYTHON
        )
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    words = through_shell(command.program, words)
    return os.posix_spawn(words[0], words, command.environment, setsigdef=IGNORED_BY_PYTHON)


def _fork(command: Command, sandbox: "Sandbox | None", ports: Sequence[int]) -> Spawned:
    from rerail.sandbox.handshake import Handshake  # a plain recording never needs it

    ours, theirs = Handshake.pair()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        # Python 3.12 warns of threads. The child runs only what is loaded already, then executes.
        pid = os.fork()
    if pid == 0:
        _become(command, sandbox, ports, theirs, ours)
    theirs.close()
    try:
        listeners = sandbox.admit(ours, pid, ports) if sandbox else ()
        ours.await_exec()
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        ours.close()
    return Spawned(pid, tuple(listeners))


def _become(
    command: Command,
    sandbox: "Sandbox | None",
    ports: Sequence[int],
    parent: "Handshake",
    parents_own: "Handshake",
) -> NoReturn:
    from rerail.sandbox.handshake import EXEC

    try:
        # With its own copy of the parent's end open, it would never see that end closed.
        parents_own.close()
        for number in IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        if command.streams:
            os.setsid()
            _end_with_parent()
            for place, stream in enumerate(command.streams):
                os.dup2(stream, place)
        if sandbox is not None:
            sandbox.enter(parent, ports)
        with parent.step(f"enter the folder `{command.cwd}`"):
            os.chdir(command.cwd)  # which may not be there outside
        with parent.step(EXEC):
            _execute(command)
    finally:
        # Whatever it was, it was told or shows itself in the silence; nobody else's code may run.
        os._exit(127)


def _end_with_parent() -> None:
    """Nobody would be there to take down what it says, nor to keep its time limit (prctl(2))."""
    with suppress(AttributeError, ImportError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _execute(command: Command) -> None:
    try:
        os.execve(command.program, list(command.words), command.environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    words = through_shell(command.program, command.words)
    os.execve(words[0], words, command.environment)
