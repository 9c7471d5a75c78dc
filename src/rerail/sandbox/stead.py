"""Calls that a supervisor makes in a command's stead: file modes, owners and times, and listening.

Landlock has no right for them. A path or a descriptor that was looked at could lead elsewhere by
the time the kernel looks again; so what it leads to is held, looked at, and changed as it is held.
Takes no call that changes what a file holds.
"""

import errno
import os
import socket
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from msgspec import Struct

from rerail.sandbox import kernel, notify
from rerail.sandbox.bpf import ALLOW, ARCHITECTURE, ASK, NUMBER, Program
from rerail.sandbox.machine import Architecture
from rerail.sandbox.passing import leader
from rerail.sandbox.writes import is_beneath, text

_AT_FDCWD: Final = (1 << 32) - 100
_AT_SYMLINK_NOFOLLOW: Final = 0x100
_AT_EMPTY_PATH: Final = 0x1000
_UNCHANGED: Final = 0xFFFFFFFF
_NOW: Final = (1 << 30) - 1
_OMIT: Final = (1 << 30) - 2


class _Form(Struct, frozen=True):
    """Where a call's arguments are: folder or descriptor, path, what it is given, flags."""

    folder: int | None
    path: int | None
    given: int
    flags: int | None = None
    follows: bool = True
    may_lack_path: bool = False


_FORMS: Final = {
    "chmod": _Form(None, 0, 1),
    "fchmod": _Form(0, None, 1),
    "fchmodat": _Form(0, 1, 2),
    "fchmodat2": _Form(0, 1, 2, 3),
    "chown": _Form(None, 0, 1),
    "lchown": _Form(None, 0, 1, follows=False),
    "fchown": _Form(0, None, 1),
    "fchownat": _Form(0, 1, 2, 4),
    "utime": _Form(None, 0, 1),
    "utimes": _Form(None, 0, 1),
    "futimesat": _Form(0, 1, 2, may_lack_path=True),
    "utimensat": _Form(0, 1, 2, 3, may_lack_path=True),
    "listen": _Form(0, None, 1),
}
_TIMES: Final = {
    "utime": ("=qq", (1_000_000_000,)),
    "utimes": ("=4q", (1_000_000_000, 1000)),
    "futimesat": ("=4q", (1_000_000_000, 1000)),
    "utimensat": ("=4q", (1_000_000_000, 1)),
}
"""How two times are laid out, and how many nanoseconds each word of one is."""

_OWN: Final = (("/proc/self/", "/proc/{}/"), ("/dev/fd/", "/proc/{}/fd/"))
"""Where the caller means itself, and we would mean ourselves."""


class NotIts(Exception):
    """What a call leads to is not in a place of the command's own; its message is the path."""


def numbers(machine: Architecture) -> dict[str, int]:
    """The calls, and their numbers on this architecture."""
    return {name: machine.calls[name] for name in _FORMS if name in machine.calls}


def program(machine: Architecture) -> bytes:
    """The filter that asks about these and about connections, where the network is free.

    It stands beside that of `aside`, which refuses the calls of other architectures.
    """
    filter_ = Program()
    filter_.load(ARCHITECTURE)
    filter_.when_equal(machine.audit, "native")
    filter_.end(ALLOW)
    filter_.label("native")
    filter_.load(NUMBER)
    asked = {name: number for name, number in numbers(machine).items() if name != "listen"}
    for number in (machine.connect, *asked.values()):
        filter_.when_equal(number, "ask")
    filter_.end(ALLOW)
    filter_.label("ask")
    filter_.end(ASK)
    return filter_.encode()


@contextmanager
def object_of(call: notify.Call, name: str) -> Iterator[int]:
    """A descriptor by which what a waiting call leads to is held. Raises OSError."""
    if name == "listen":
        held = kernel.copy_of(leader(call.pid), call.descriptor)
    else:
        held = _held(call, _FORMS[name])
    try:
        yield held
    finally:
        os.close(held)


def do(call: notify.Call, name: str, held: int, free: Sequence[str]) -> None:
    """Make the call, in `free` folders and of what is in no folder. Raises OSError, NotIts."""
    given = _FORMS[name].given
    if name == "listen":
        _listen(held, call.arguments[given])
    elif name.endswith(("chown", "chownat")):
        _keep_owner(held, call.arguments[given : given + 2])
    elif "chmod" in name:
        _change_mode(_allowed(held, free), call.arguments[given] & 0o7777)
    else:
        times = _times(call, name, call.arguments[given])
        _change_times(_allowed(held, free), times)


def _held(call: notify.Call, form: _Form) -> int:
    path = b""
    if form.path is not None and not (form.may_lack_path and not call.arguments[form.path]):
        path = text(call.pid, call.arguments[form.path])
        if not path and (form.flags is None or not call.arguments[form.flags] & _AT_EMPTY_PATH):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    base = _AT_FDCWD if form.folder is None else call.arguments[form.folder] & 0xFFFFFFFF
    start = f"/proc/{call.pid}/" + ("cwd" if base == _AT_FDCWD else f"fd/{base}")
    if not path:
        return _hold(start, missing=errno.EBADF)
    flags = call.arguments[form.flags] if form.flags is not None else 0
    follows = form.follows and not flags & _AT_SYMLINK_NOFOLLOW
    with ExitStack() as closing:
        folder = None
        if not path.startswith(b"/"):
            folder = _hold(start, missing=errno.EBADF)
            closing.callback(os.close, folder)
        return _hold(_as_ours(call.pid, os.fsdecode(path)), folder=folder, follows=follows)


def _as_ours(pid: int, path: str) -> str:
    for theirs, ours in _OWN:
        if path.startswith(theirs):
            return ours.format(pid) + path.removeprefix(theirs)
    return path


def _hold(
    path: str, *, folder: int | None = None, follows: bool = True, missing: int = errno.ENOENT
) -> int:
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW)
    try:
        return os.open(path, flags, dir_fd=folder)
    except FileNotFoundError as error:
        raise OSError(missing, os.strerror(missing)) from error


def _allowed(held: int, free: Sequence[str]) -> str:
    """The way to it for us. What is in no folder, as a pipe, is whose it is by being held."""
    place = f"/proc/self/fd/{held}"
    path = os.readlink(place)  # noqa: PTH115
    if path.startswith("/") and not is_beneath(path, free):
        raise NotIts(path)
    return place


def _listen(held: int, backlog: int) -> None:
    """A port that nobody bound is the kernel's choice, and no rule of Landlock's is asked."""
    with socket.socket(fileno=os.dup(held)) as own:
        if own.family != socket.AF_UNIX:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        own.listen(min(backlog & 0xFFFFFFFF, 1 << 16))


def _keep_owner(held: int, wanted: Sequence[int]) -> None:
    """To give a file to whose it is changes nothing, wherever it is; all else takes rights."""
    found = os.stat(held)
    user, group = (word & _UNCHANGED for word in wanted)
    if user not in (_UNCHANGED, found.st_uid) or group not in (_UNCHANGED, found.st_gid):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def _change_mode(place: str, mode: int) -> None:
    """A program that runs as whose it is would outlast the plane; of folders they say another."""
    is_folder = stat.S_ISDIR(os.stat(place).st_mode)  # noqa: PTH116
    if mode & stat.S_ISUID or (mode & stat.S_ISGID and not is_folder):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    os.chmod(place, mode)  # noqa: PTH101


_Time = int | None
"""Nanoseconds; None for now, and -1 to leave it."""


def _times(call: notify.Call, name: str, where: int) -> tuple[_Time, _Time]:
    if not where:
        return None, None
    form, units = _TIMES[name]
    words = struct.unpack(form, notify.memory_of(call.pid, where, struct.calcsize(form)))
    first, second = words[: len(units)], words[len(units) :]
    return _time(first, units), _time(second, units)


def _time(words: Sequence[int], units: Sequence[int]) -> _Time:
    if units[-1] == 1 and words[-1] in (_NOW, _OMIT):
        return None if words[-1] == _NOW else -1
    if len(units) > 1 and not 0 <= words[1] * units[1] < units[0]:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return sum(word * unit for word, unit in zip(words, units, strict=True))


def _change_times(place: str, times: tuple[_Time, _Time]) -> None:
    before = os.stat(place)  # noqa: PTH116
    if None in times:
        os.utime(place)
    now = os.stat(place)  # noqa: PTH116
    accessed = _chosen(times[0], before.st_atime_ns, now.st_atime_ns)
    modified = _chosen(times[1], before.st_mtime_ns, now.st_mtime_ns)
    os.utime(place, ns=(accessed, modified))


def _chosen(wanted: _Time, before: int, now: int) -> int:
    if wanted is None:
        return now
    return before if wanted == -1 else wanted
