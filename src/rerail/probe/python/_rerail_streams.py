"""The descriptors of a child: what it is given in place of the agent's, and what the recorder gets.

Between the agent and the child stand pipes that lead through the recorder. Says nothing to anybody
and starts nothing.
"""

import fcntl
import os
import stat
from typing import Any, Dict, List, Tuple  # of Python 3.8

# Where they stand among the arguments that `Popen` gives to `_execute_child`, since 3.8.
_STDIN, _STDOUT, _STDERR = (10, 11), (12, 13), (14, 15)


class Streams:
    """Which descriptors a child is given instead, and which the recorder gets."""

    def __init__(self) -> None:
        self.kinds: Dict[str, str] = {}
        self.names: List[str] = []
        self.sent: List[int] = []
        self.ours: List[int] = []
        self.theirs: List[int] = []
        self.given: List[int] = []
        self.starts: Dict[str, int] = {}

    def send(self, name: str, descriptor: int) -> None:
        self.names.append(name)
        self.sent.append(descriptor)

    def between(self) -> Tuple[int, int]:
        """A new pipe; both ends are closed here once the child is there."""
        ends = os.pipe()
        self.ours.extend(ends)
        return ends

    def stdin(self, read: int, write: int) -> int:
        """What the child reads from, given the ends that it and we were to have."""
        kind = "pipe" if write != -1 else _kind(read)
        # A pipe from elsewhere may be read by others after the child: nothing of it is taken.
        self.kinds["stdin"] = kind = "passed" if kind == "fifo" else kind.replace("socket", "pipe")
        if kind == "file":
            self.starts["stdin"] = _position(read)
            self.send("stdin.file", read)
        if kind != "pipe":
            return read
        ours, theirs = self.between()
        self.send("stdin.source", read)
        self.send("stdin.target", theirs)
        if write != -1:
            self.theirs.append(read)
            self.given.append(ours)
        return ours

    def output(self, name: str, read: int, write: int) -> int:
        """What the child writes to."""
        kind = "pipe" if read != -1 else _kind(write)
        self.kinds[name] = kind = {"fifo": "pipe", "socket": "passed"}.get(kind, kind)
        if kind == "file":
            self.starts[name] = _position(write)
            self.send(name + ".file", write)
        if kind != "pipe":
            return write
        theirs, ours = self.between()
        self.send(name + ".source", theirs)
        self.send(name + ".target", write)
        if read != -1:
            self.theirs.append(write)
            self.given.append(ours)
        return ours

    def put_between(self, given: List[Any]) -> None:
        """Change the descriptors among the arguments of `_execute_child`."""
        out, err = given[_STDOUT[1]], given[_STDERR[1]]
        given[_STDIN[0]] = self.stdin(given[_STDIN[0]], given[_STDIN[1]])
        given[_STDOUT[1]] = self.output("stdout", given[_STDOUT[0]], out)
        if err != -1 and err == out:
            self.kinds["stderr"], given[_STDERR[1]] = "stdout", given[_STDOUT[1]]
        else:
            given[_STDERR[1]] = self.output("stderr", given[_STDERR[0]], err)

    def close(self, *, library_did: bool) -> None:
        """`library_did`: it has closed what it was given, and not what it would have been given.

        None is closed twice: by then its number may be that of another thread's file.
        """
        ours = [descriptor for descriptor in self.ours if descriptor not in self.given]
        for descriptor in ours + (self.theirs if library_did else self.given):
            try:
                os.close(descriptor)
            except OSError:
                pass
        self.ours, self.theirs, self.given = [], [], []


def _kind(descriptor: int) -> str:
    """What a descriptor that the agent gave leads to."""
    if descriptor in (-1, 0, 1, 2):
        return "inherited"
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode):
        return "file"
    if stat.S_ISFIFO(found.st_mode):
        return "fifo"
    if stat.S_ISSOCK(found.st_mode):
        return "socket"
    null = os.stat(os.devnull)
    return "null" if found.st_rdev == null.st_rdev and stat.S_ISCHR(found.st_mode) else "passed"


def _position(descriptor: int) -> int:
    """Where a file will be read or written next."""
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND:
        return os.fstat(descriptor).st_size
    return os.lseek(descriptor, 0, os.SEEK_CUR)
