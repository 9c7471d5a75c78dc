"""What a probe says of a child process, checked: the lines that come over the run's channel."""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from rerail.proxy.pipes import PipeEnd, is_a_name
from rerail.tape.records import StreamKind, StreamName

Number = Annotated[int, Meta(ge=0, lt=1 << 31)]
"""Of a process, of a signal: a tape holds no number that is larger than 64 bits."""

Pid = Annotated[int, Meta(gt=-(1 << 31), lt=1 << 31)]
"""A process's own number; negative for a child of `os.system`, whose number nobody is told."""

Status = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 32)]
Offset = Annotated[int, Meta(ge=0, lt=1 << 62)]

OUTPUTS: Final[tuple[StreamName, ...]] = ("stdout", "stderr")
STREAMS: Final[tuple[StreamName, ...]] = ("stdin", *OUTPUTS)


_ONE_READ: Final = 1 << 20


ANSWERED: Final[dict[str, Any]] = {"heard": True}
"""The answer to what is answered only so that what follows it comes after it."""


class Started(Struct, frozen=True, tag_field="do", tag="start"):
    """A child is about to be started.

    `descriptors` names those that came along: `stdin.source` (what the agent writes arrives there)
    and `stdin.target` (the child reads from it), the same for the outputs the other way round,
    `stdout.file` a file that the child writes to, from the position in `starts` on, `control` what
    the stand-in of a replay reads from, `ready` where it says that it is there. `inside` is the
    child that the one who starts it is part of. `plays`: the probe itself hears what passes, and
    plays a plan in a replay; `told` is what it was told at once, `told_all` that no more will come,
    `waits` that nothing else is done until it has ended. `named` is how things stand at the paths
    that its words may name.
    """

    child: Number
    parent: Number
    argv: list[str]
    cwd: str
    shell: bool
    streams: dict[StreamName, StreamKind]
    descriptors: list[str]
    inside: Number = 0
    starts: dict[StreamName, Offset] = {}
    plays: bool = False
    told: bytes = b""
    told_all: bool = False
    waits: bool = False
    named: dict[str, str] = {}


class Runs(Struct, frozen=True, tag_field="do", tag="pid"):
    """It runs."""

    child: Number
    pid: Pid


class Failed(Struct, frozen=True, tag_field="do", tag="failed"):
    """It could not be started."""

    child: Number
    why: str


class Passed(Struct, frozen=True, tag_field="do", tag="passed"):
    """A piece of a stream, as the probe heard it."""

    child: Number
    stream: StreamName
    data: bytes


class StreamEnded(Struct, frozen=True, tag_field="do", tag="stream"):
    """The end of a stream, as the probe heard it."""

    child: Number
    stream: StreamName
    how: PipeEnd


class Told(Struct, frozen=True, tag_field="do", tag="told"):
    """What it has been told so far is not what its plan expects; another plan is asked for."""

    child: Number
    told: bytes
    told_all: bool


class Spoke(Struct, frozen=True, tag_field="do", tag="spoke"):
    """It was told this, and speaks JSON-RPC: what it says is asked for."""

    child: Number
    data: bytes


class Diverged(Struct, frozen=True, tag_field="do", tag="diverged"):
    """It was told something that its plan does not expect, after something had been given."""

    child: Number


class Signalled(Struct, frozen=True, tag_field="do", tag="signal"):
    """The agent is about to send it a signal; it waits for an answer before it does."""

    child: Number
    signal: Number


class Ending(Struct, frozen=True, tag_field="do", tag="ending"):
    """It is about to end, as its plan says; that is waited for."""

    child: Number


class Ended(Struct, frozen=True, tag_field="do", tag="end"):
    """The agent waited for it; `status` is negative for a signal."""

    child: Number
    status: Status


Saying = (
    Started | Runs | Failed | Passed | StreamEnded | Told | Spoke | Diverged | Signalled | Ending
    | Ended
)  # fmt: skip


def understood(said: dict[str, Any], descriptors: Sequence[int]) -> Saying | None:
    """What a line says, or None for one that says nothing of children: its descriptors are closed.

    A child that is `Started` comes with as many descriptors as it names; nothing else has any.
    """
    try:
        saying: Saying | None = msgspec.convert(said, Saying)
    except msgspec.ValidationError:
        saying = None
    expected = len(saying.descriptors) if isinstance(saying, Started) else 0
    if saying is None or len(descriptors) != expected:
        _close_all(descriptors)
        return None
    return saying


class Descriptors:
    """The descriptors that came with a child, each closed unless it is taken."""

    __slots__ = ("_held", "_starts")

    def __init__(self, started: Started, descriptors: Sequence[int]) -> None:
        self._held = dict(zip(started.descriptors, descriptors, strict=True))
        self._starts = started.starts

    def has(self, name: str) -> bool:
        """Whether it came and was not taken."""
        return name in self._held

    def take(self, name: str) -> int:
        """Own it from now on. Raises KeyError."""
        return self._held.pop(name)

    def look(self, name: str) -> int:
        """Use it without owning it. Raises KeyError."""
        return self._held[name]

    def put(self, name: str, descriptor: int) -> None:
        """Keep it here."""
        self._held[name] = descriptor

    def file(self, name: StreamName) -> bytes | None:
        """What a file that is a child's stream holds from where the child began; None for none."""
        descriptor = self._held.pop(f"{name}.file", None)
        if descriptor is None:
            return None
        try:
            return _content(descriptor, self._starts.get(name, 0))
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close what was not taken."""
        _close_all(list(self._held.values()))
        self._held.clear()


def _content(descriptor: int, start: int) -> bytes:
    """Read through a name: a descriptor may be for writing alone, and its position is shared.

    None but a file that the agent itself opened: by a name alone (O_PATH) it may have no right to
    read, which we would have.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode) or is_a_name(descriptor):
        return b""
    pieces = []
    readable = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while piece := os.pread(readable, _ONE_READ, start):
            pieces.append(piece)
            start += len(piece)
    finally:
        os.close(readable)
    return b"".join(pieces)


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)
