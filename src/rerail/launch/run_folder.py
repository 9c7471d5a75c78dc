"""The private folder through which the recorder and the probes of one run talk.

The recorder writes a page that probes read (which turn it is, what the clock is to say); a probe
writes a log that the recorder reads. Knows the form of both and the meaning of neither.
"""

import errno
import os
import re
import secrets
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from mmap import mmap
from pathlib import Path
from typing import Final, Literal, Self

import msgspec
from msgspec import Struct

from rerail.errors import UsageProblem
from rerail.launch.left import hold, left_in

VARIABLE: Final = "RERAIL_RUN"
"""The environment variable that tells a probe where the folder is."""

CHANNEL: Final = "channel"
"""The name of the recorder's unix socket in the folder."""

HEAD_SIZE: Final = 64
SLOTS: Final = 4096
PAGE_SIZE: Final = HEAD_SIZE + 8 * SLOTS
PAGE_VERSION: Final = 1
REAL_CLOCK: Final = 1
"""A flag of the page: from now on a probe hands out the system's own time."""

_PAGE: Final = struct.Struct("<QQQqqqQ")
_LATEST: Final = (1 << 63) - 1
_PREFIX: Final = "rerail-run-"
_LOCK: Final = "page"
_PLACES: Final = ("/tmp", "/dev/shm")  # noqa: S108 - a folder of our own is made there
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOG_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOG_NAME: Final = re.compile(r"[0-9]{1,9}\.log")
_WHOLE_READ: Final = 1 << 20
_SOCKET_ROOM: Final = 70
"""Bytes of a path below which a unix socket in the folder can still be named (sun_path is 108)."""


class ProbeSettings(Struct, frozen=True, kw_only=True):
    """What probes are to do. `seed` is 32 bytes in hexadecimal; `log`: whether what they hand out
    is to be written down. What is written in a `private` folder may be seen by nobody else."""

    mode: Literal["record", "replay"]
    seed: str
    log: bool = True
    clock: bool = True
    random: bool = True
    children: bool = True
    private: tuple[str, ...] = ()

    @property
    def hash_seed(self) -> int | None:
        """For PYTHONHASHSEED, so that sets have the same order; None where random is left out."""
        if not self.random:
            return None
        return int.from_bytes(sha256(f"hash {self.seed}".encode()).digest()[:4], "big") or 1


class Page(Struct):
    """What stands on the page. Times are nanoseconds: `wall_*` since 1970, `mono_base` of
    CLOCK_MONOTONIC. `wall_limit` is 0 where there is none."""

    turn: int = 0
    wall_base: int = 0
    mono_base: int = 0
    wall_limit: int = 0
    flags: int = 0


class RunFolder:
    """The folder of one run, readable by its owner alone. `remove` it, or use it in `with`.

    `is_gone`: somebody else has removed it, so that probes are silent.
    """

    def __init__(self, path: Path, settings: ProbeSettings) -> None:
        self.path = path
        self.settings = settings
        self.is_gone = False
        self.page = Page()
        # Held as long as we live: a folder whose page nobody holds was left by a killed recorder.
        # Written, not only made that long: on a full disk this fails, and no access to it later.
        self._page = hold(path / _LOCK, bytes(PAGE_SIZE))
        self._count = 0
        self._turns: dict[int, int] = {}
        self._logs: dict[int, _Log] = {}
        self._shown = mmap(self._page, PAGE_SIZE)
        # Held open: it is the agent's to write in, and what takes its name is not it.
        self._written = os.open(path / "p", _FOLDER)
        self.publish()

    @classmethod
    def make(cls, settings: ProbeSettings, *, path: Path | None = None) -> Self:
        """Make one where temporary files go, or in `/tmp` where that is too long for a socket.

        `path` is an empty folder that has been made for it already (`place_for_run`). Raises
        `UsageProblem` where none can be made.
        """
        path = path or place_for_run()
        try:
            for name in ("p", "k", "v"):
                (path / name).mkdir(mode=0o700)
            (path / "settings.json").write_bytes(msgspec.json.encode(settings))
            return cls(path, settings)
        except OSError as error:
            _remove(path)
            raise UsageProblem(
                f"cannot write to {path.parent}: {error.strerror}",
                hint="set TMPDIR to a folder with room",
            ) from error

    @property
    def channel(self) -> Path:
        """Where the recorder's unix socket for probes is, once somebody listens there."""
        return self.path / CHANNEL

    def turn_of(self, process_id: int) -> int:
        """Which turn a process is told that it is."""
        return self._turns.get(process_id, 0)

    def turn_begins(self, process_id: int, turn: int | None = None) -> None:
        """A model call came from this process, or from nobody known (0).

        `turn` is what the process is told from now on; the next one, where it is not given.
        """
        turns = self.turn_of(process_id) + 1 if turn is None else turn
        self._turns[process_id] = turns
        if process_id < SLOTS:
            place = HEAD_SIZE + 8 * process_id
            self._shown[place : place + 8] = turns.to_bytes(8, "little")
        self.page.turn += 1
        self.publish()

    def publish(self) -> None:
        """Show the page as it is now. Its counter is odd while the rest is being written."""
        page, shown = self.page, self._shown
        self._count += 2
        shown[8:16] = (self._count - 1).to_bytes(8, "little")
        times = map(_of_63_bits, (page.wall_base, page.mono_base, page.wall_limit))
        fields = (page.turn, *times, page.flags)
        _PAGE.pack_into(shown, 0, PAGE_VERSION, self._count - 1, *fields)
        shown[8:16] = self._count.to_bytes(8, "little")

    def first_line(self, process_id: int) -> bytes:
        """How a process's log begins; empty where it wrote none."""
        with suppress(OSError), os.fdopen(_open_log(self._written, process_id), "rb") as log:
            return log.readline()
        return b""

    def give_back(self, logs: Mapping[str, bytes]) -> None:
        """Before a replay: the recorded log of each process, by its key and number there."""
        for key, content in logs.items():
            (self.path / "v" / key).write_bytes(content)

    def news(self) -> Iterator[tuple[int, bytes]]:
        """What probes have written since the last call: (process, whole lines).

        An agent may have cleared the place for temporary files: then of those that are known.
        """
        self.is_gone = self.is_gone or not os.fstat(self._written).st_nlink
        for number in sorted(self._logs if self.is_gone else self._with_content()):
            log = self._logs.get(number)
            if log is None:
                log = self._logs[number] = _Log(self._written, number)
            if lines := log.news():
                yield number, lines

    def _with_content(self) -> Iterator[int]:
        """Whose logs hold something: a number may be that of a child, which writes nothing."""
        with os.scandir(self._written) as entries:
            names = [entry.name for entry in entries if _has_content(entry)]
        return (int(name[:-4]) for name in names if _LOG_NAME.fullmatch(name))

    def remove(self) -> None:
        """Take the folder away. A probe that goes on finds nothing, and is silent."""
        if self._page >= 0:
            self._shown.close()
            os.close(self._page)
            os.close(self._written)
            self._page = -1
        for log in self._logs.values():
            log.close()
        _remove(self.path)
        _remove_what_was_left(self.path.parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def _of_63_bits(time: int) -> int:
    """A time as the page can say it: one on a stranger's tape may be any number."""
    return max(-_LATEST, min(time, _LATEST))


def place_for_run() -> Path:
    """An empty folder of our own. Raises `UsageProblem`."""
    for place in (os.environ.get("TMPDIR", ""), *_PLACES):
        if place.startswith("/") and len(os.fsencode(place)) < _SOCKET_ROOM:
            path = Path(place) / f"{_PREFIX}{secrets.token_hex(8)}"
            with suppress(OSError):
                path.mkdir(mode=0o700)
                return path
    raise UsageProblem(
        "no folder for temporary files can be written", hint="set TMPDIR to one that can be"
    )


def _remove(path: Path) -> None:
    for folder, folders, files in os.walk(path, topdown=False):
        for name in (*files, *folders):
            place = Path(folder, name)
            with suppress(OSError):
                if place.is_dir() and not place.is_symlink():
                    place.rmdir()
                else:
                    place.unlink()
    with suppress(OSError):
        path.rmdir()


def _remove_what_was_left(place: Path) -> None:
    """A recorder that was killed could not take its folder away, and there may be keys in it."""
    for folder, page in left_in(place, _LOCK, prefix=_PREFIX):
        if os.fstat(page).st_size == PAGE_SIZE:
            _remove(folder)


def _has_content(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_size > 0
    except OSError:
        return False


def _open_log(folder: int, number: int) -> int:
    """A process's log. Raises OSError, also where a link or a pipe has its name."""
    descriptor = os.open(f"{number}.log", _LOG_FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return descriptor


class _Log:
    """One process's log, read as far as whole lines go."""

    __slots__ = ("_descriptor", "_folder", "_number", "_read")

    def __init__(self, folder: int, number: int) -> None:
        self._folder = folder
        self._number = number
        self._descriptor = -1
        self._read = 0

    def news(self) -> bytes:
        """The whole lines that are new; what is torn waits for its end."""
        with suppress(OSError):
            if self._descriptor < 0:
                self._descriptor = _open_log(self._folder, self._number)
            pieces = []
            while piece := os.pread(self._descriptor, _WHOLE_READ, self._read):
                self._read += len(piece)
                pieces.append(piece)
            found = b"".join(pieces)
            whole = found.rfind(b"\n") + 1
            self._read -= len(found) - whole
            return found[:whole]
        return b""

    def close(self) -> None:
        """Read no more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
