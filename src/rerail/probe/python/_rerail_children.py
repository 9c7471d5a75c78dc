"""Loaded when an agent's Python loads `subprocess`: tells the recorder of each child it starts.

In a recording a child's pipes lead through the recorder, which copies what passes and keeps it. In
a replay a shell stands where the child would be, with the same descriptors, until the recorder says
how it ends, or that it is to become the real program. Needs Python 3.8; whatever fails here, the
child starts as it would.
"""

import _socket
import array
import errno
import json
import os
import threading
from typing import Any, Dict, List, Optional, Sequence  # of Python 3.8

from _rerail_run import RUN
from _rerail_streams import Streams
from _rerail_written import named

FOLDER = "RERAIL_RUN"
INSIDE = "RERAIL_INSIDE"
"""Set for whatever is part of a child: which one."""

_PATIENCE_SECONDS = 10.0
_PROXIES = (
    "RERAIL_PROXY", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy",
    "ALL_PROXY", "npm_config_proxy", "npm_config_https_proxy",
)  # fmt: skip
_SHELL = "/bin/sh"
_STAND_IN = """{0}
echo >/dev/fd/{1}
read -r how what </dev/fd/{2}
case $how in
run) exec "$@";;
kill) kill -"$what" $$; kill -KILL $$;;
exit) exit "$what";;
esac
exit 125"""
"""What stands in for a child of a replay until it is told to `run`, to `exit` or to be `kill`ed."""


class _State:
    """What this process was told, and what it has started and not yet seen the end of."""

    def __init__(self) -> None:
        self.replaying = False
        self.last = 1
        self.empty = ""
        self.running = {}  # type: Dict[int, int]
        self.lock = threading.Lock()


_STATE = _State()


class _Child:
    """One child that is about to be started, announced to the recorder before it is."""

    def __init__(self, words: Sequence[str], cwd: Any, shell: bool, streams: Streams) -> None:
        self.number = _claim()
        self.streams = streams
        self.control = self.ready = -1
        self.plain, self.stands_in = False, _STATE.replaying
        self.ignored = []  # type: List[int]
        if _STATE.replaying:
            self.control, theirs = streams.between()
            streams.send("control", theirs)
            heard, self.ready = streams.between()
            streams.send("ready", heard)
        self._connection = _connected()
        try:
            self._say(self._announcement(words, cwd, shell), streams.sent)
            if _STATE.replaying:
                answer = _answer(self._connection)
                self.plain = bool(answer.get("plain"))
                self.stands_in = not self.plain and not answer.get("real")
                self.ignored = answer.get("ignore", [])
        except BaseException:
            self._connection.close()
            raise
        if self.plain:
            self._connection.close()

    def _announcement(self, words: Sequence[str], cwd: Any, shell: bool) -> Dict[str, Any]:
        folder = _folder(cwd)
        return {
            "do": "start",
            "child": self.number,
            "parent": RUN.number,
            "inside": int(os.environ.get(INSIDE) or 0),
            "argv": list(words),
            "cwd": folder,
            "shell": bool(shell),
            "streams": self.streams.kinds,
            "starts": self.streams.starts,
            "descriptors": self.streams.names,
            "named": named(words, folder) if folder and not _STATE.replaying else {},
        }

    def standing_in(self, words: Sequence[str], program: str, shell: Any) -> List[str]:
        """The arguments of the shell that stands in; its own are those of the real program."""
        real = [program or _SHELL, "-c", *words] if shell else [program, *words[1:]]
        ignored = " ".join(map(str, self.ignored))
        trap = "trap '' %s" % ignored if ignored else ":"
        script = _STAND_IN.format(trap, self.ready, self.control)
        return [_SHELL, "-c", script, real[0], *real]

    def started(self, pid: int) -> None:
        """The child runs."""
        _STATE.running[pid] = self.number
        # What `os.system` runs has no number that anybody is told: it goes by another here.
        self._finish({"do": "pid", "child": self.number, "pid": max(pid, 0)})

    def failed(self, error: BaseException) -> None:
        """There is no child."""
        name = errno.errorcode.get(getattr(error, "errno", None) or 0, "")
        self._finish({"do": "failed", "child": self.number, "why": name or repr(error)})

    def environment(self, given: Any) -> Any:
        """The child's environment: it knows that it is inside, and its traffic is its own."""
        if given is not None and FOLDER not in given and FOLDER.encode() not in given:
            return given
        found = dict(os.environ if given is None else given)
        found.update(self.changes(found))
        return found

    def changes(self, environment: Any) -> Dict[str, str]:
        """The variables that are otherwise for the child; its number stands in its proxy's name."""
        changed = {INSIDE: str(self.number)}
        url = os.environ.get("RERAIL_PROXY", "")
        scheme, _, rest = url.partition("://")
        name, colon, secret = rest.partition(":")
        own = "%s://p%d%s%s" % (scheme, self.number, colon, secret)
        for name in _PROXIES:
            if url and environment.get(name) == url:
                changed[name] = own
        return changed

    def _finish(self, message: Dict[str, Any]) -> None:
        try:
            self._say(message, ())
        except OSError:
            pass
        self._connection.close()

    def _say(self, message: Dict[str, Any], descriptors: Sequence[int]) -> None:
        _say(self._connection, message, descriptors)


def _folder(cwd: Any) -> str:
    """Where a child is started; nothing where the agent's own folder is gone."""
    try:
        return os.path.abspath(os.fsdecode(cwd)) if cwd is not None else os.getcwd()
    except FileNotFoundError:
        return ""


def _claim() -> int:
    """A number that no other process of the run has."""
    with _STATE.lock:
        number = _STATE.last
        while True:
            number += 1
            try:
                _reserve(os.path.join(RUN.folder, "p", "%d.log" % number))
            except FileExistsError:
                continue
            _STATE.last = number
            return number


def _reserve(path: str) -> None:
    """A second name for one empty file is much quicker than a file. Raises FileExistsError."""
    empty = _STATE.empty
    try:
        os.link(empty, path)
        return
    except FileExistsError:
        raise
    except OSError:
        # The first one, or one too many, or a file system without such names.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _STATE.empty = path


def _connected() -> Any:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        os.set_inheritable(connection.fileno(), False)
        connection.settimeout(_PATIENCE_SECONDS)
        connection.connect(os.path.join(RUN.folder, "channel"))
    except BaseException:
        connection.close()
        raise
    return connection


def _say(connection: Any, message: Dict[str, Any], descriptors: Sequence[int]) -> None:
    data = json.dumps(message).encode("ascii") + b"\n"
    rights = []
    if descriptors:
        packed = array.array("i", descriptors).tobytes()
        rights.append((_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed))
    sent = connection.sendmsg([data], rights)
    if sent < len(data):
        connection.sendall(data[sent:])


def _answer(connection: Any) -> Dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece:
            raise OSError(errno.EPIPE, "the recorder did not answer")
        data += piece
    return dict(json.loads(data))


def _tell_signal(pid: int, number: int) -> None:
    """A child of ours is about to be sent a signal: the recorder is to know that before."""
    child = _STATE.running.get(pid)
    if child is None or not number:
        return
    try:
        connection = _connected()
        try:
            _say(connection, {"do": "signal", "child": child, "signal": int(number)}, ())
            _answer(connection)
        finally:
            connection.close()
    except (OSError, ValueError):
        pass


def _tell_end(pid: int, status: int) -> None:
    """A child of ours was waited for; `status` is negative for a signal."""
    number = _STATE.running.pop(pid, None)
    if number is None:
        return
    try:
        connection = _connected()
        try:
            _say(connection, {"do": "end", "child": number, "status": status}, ())
        finally:
            connection.close()
    except OSError:
        pass


def _missing(error: BaseException) -> None:
    """A child starts as if we were not here, and that is written down."""
    RUN.missing("a child was not recorded", repr(error))


# What is put in the place of the library's own.


def _decoded(words: Any) -> List[str]:
    items = [words] if isinstance(words, (str, bytes, os.PathLike)) else list(words)
    return [os.fsdecode(item) for item in items]


# Where they stand among the arguments that `Popen` gives to `_execute_child`, since 3.8.
_ARGS, _EXECUTABLE, _PASS_FDS, _CWD, _ENV, _SHELL_ASKED = 0, 1, 4, 5, 6, 9


def _hook_popen(module: Any) -> None:
    popen = module.Popen
    execute, handle = popen._execute_child, popen._handle_exitstatus

    def _execute_child(self: Any, *arguments: Any) -> Any:
        given = list(arguments)
        child = _announced(given)
        if child is None:
            return execute(self, *given)
        try:
            result = execute(self, *given)
        except BaseException as failure:
            child.streams.close(library_did=self._closed_child_pipe_fds)
            child.failed(failure)
            raise
        child.streams.close(library_did=True)
        child.started(self.pid)
        return result

    def _handle_exitstatus(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = handle(self, *args, **kwargs)
        if self.returncode is not None:
            _tell_end(self.pid, self.returncode)
        return result

    popen._execute_child = _execute_child
    popen._handle_exitstatus = _handle_exitstatus


def _announced(given: List[Any]) -> "Optional[_Child]":
    """Tell of the child that these arguments mean, and change them; None where it is left alone."""
    before, streams = list(given), Streams()
    try:
        words, shell = _decoded(given[_ARGS]), given[_SHELL_ASKED]
        executable = given[_EXECUTABLE]
        program = os.fsdecode(executable) if executable else "" if shell else words[0]
        streams.put_between(given)
        child = _Child(words, given[_CWD], shell, streams)
    except Exception as failure:
        streams.close(library_did=False)
        given[:] = before
        _missing(failure)
        return None
    if child.plain:
        streams.close(library_did=False)
        given[:] = before
    given[_ENV] = child.environment(given[_ENV])
    if child.plain:
        return None
    if child.stands_in:
        given[_ARGS] = child.standing_in(words, program, shell)
        given[_EXECUTABLE], given[_SHELL_ASKED] = None, False
        given[_PASS_FDS] = (*given[_PASS_FDS], child.control, child.ready)
    return child


def _hook_waits() -> None:
    """asyncio and others wait for a child themselves."""

    def returncode(status: int) -> Optional[int]:
        if os.WIFSIGNALED(status):
            return -os.WTERMSIG(status)
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None

    def waiting(wait: Any) -> Any:
        def waited(*args: Any, **kwargs: Any) -> Any:
            result = wait(*args, **kwargs)
            if result[0] in _STATE.running:
                code = returncode(result[1])
                if code is not None:
                    _tell_end(result[0], code)
            return result

        waited.__name__ = wait.__name__
        waited.__doc__ = wait.__doc__
        return waited

    for name in ("waitpid", "wait", "wait3", "wait4"):
        setattr(os, name, waiting(getattr(os, name)))


def _hook_signals() -> None:
    """Both `Popen` and asyncio send theirs through these."""

    def sending(send: Any) -> Any:
        def sent(pid: Any, number: Any, *rest: Any) -> Any:
            _tell_signal(pid, number)
            return send(pid, number, *rest)

        sent.__name__ = send.__name__
        sent.__doc__ = send.__doc__
        return sent

    for name in ("kill", "killpg"):
        setattr(os, name, sending(getattr(os, name)))


def _hook_system() -> None:
    """`os.system` keeps our terminal and pipes: what it runs and how it ends is told."""
    native = os.system

    def system(command: Any) -> int:
        streams = Streams()
        streams.kinds = dict.fromkeys(("stdin", "stdout", "stderr"), "inherited")
        try:
            words = [os.fsdecode(command)]
            child = _Child(words, None, True, streams)
        except Exception as failure:
            streams.close(library_did=False)
            _missing(failure)
            return native(command)
        line = command
        if child.plain:
            streams.close(library_did=False)
        elif child.stands_in:
            os.set_inheritable(child.control, True)
            os.set_inheritable(child.ready, True)
            line = _as_line(child.standing_in(words, "", True))
        pid = -child.number
        changes = child.changes(os.environ)
        before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        try:
            if not child.plain:
                child.started(pid)
            status = native(line)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            streams.close(library_did=False)
        ended = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        _tell_end(pid, ended)
        return status

    os.system = system


def _as_line(words: Sequence[str]) -> str:
    return "exec " + " ".join("'%s'" % word.replace("'", "'\\''") for word in words)


def install(subprocess: Any) -> None:
    """Hook what starts children in this process; `subprocess` is that module."""
    _STATE.replaying = RUN.settings["mode"] == "replay"
    _hook_popen(subprocess)
    _hook_waits()
    _hook_signals()
    _hook_system()
