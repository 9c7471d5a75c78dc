"""The log that a probe writes: one record a line, tab separated. Pure; imports nothing of rerail.

`hello` says who writes; `s` names a call site, `t` is a time and `r` entropy handed out there,
`missing` something that passed by, `wrote` a path that was opened for writing. The recorder adds a
`k` for each model call of the process: which turn it was from there on. Unknown kinds are kept.
"""

import re
from typing import Final

import msgspec
from msgspec import Struct

_MANY: Final = 10**9
_KEY: Final = re.compile(r"[0-9a-f]{16}")
_TURN: Final = re.compile(rb"^k\t([0-9]{1,9})$", re.MULTILINE)
_JOB: Final = re.compile(rb"@[0-9a-f]{16}")


class Hello(Struct, frozen=True):
    """Who writes a log. `key` and `n` are the same for the same process of a replay.

    `inside` is the number of the recorded child that it is part of, 0 for none.
    """

    pid: int = 0
    ppid: int = 0
    argv: list[str] = []
    executable: str = ""
    version: str = ""
    key: str = ""
    n: int = 0
    cwd: str = ""
    kind: str = ""
    inside: int = 0

    @property
    def name(self) -> str:
        """The name of a process among those of its run; empty for a key that no probe makes."""
        return f"{self.key}.{self.n}" if _KEY.fullmatch(self.key) and 0 <= self.n < _MANY else ""


def read_hello(line: bytes) -> Hello | None:
    """The hello that a line is, or None."""
    kind, _, rest = line.partition(b"\t")
    if kind != b"hello":
        return None
    try:
        return msgspec.json.decode(rest, type=Hello)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def hello_line(hello: Hello) -> bytes:
    """The line that a hello is."""
    return b"hello\t" + msgspec.json.encode(hello) + b"\n"


def read_missing(line: bytes) -> tuple[str, str] | None:
    """What passed by, and the detail, where a line says so."""
    kind, _, rest = line.rstrip(b"\n").partition(b"\t")
    if kind != b"missing":
        return None
    what, _, detail = rest.decode("utf-8", "replace").partition("\t")
    return what, detail


def read_wrote(line: bytes) -> str | None:
    """The path that was written, where a line says so."""
    kind, _, rest = line.partition(b"\t")
    if kind != b"wrote":
        return None
    try:
        return msgspec.json.decode(rest, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def turn_line(turn: int) -> bytes:
    """The line that says which turn a model call began, or fell into."""
    return b"k\t%d\n" % turn


def turns_in(log: bytes) -> list[int]:
    """The turn after each model call of a process; empty where the log does not say."""
    return [int(turn) for turn in _TURN.findall(log)]


def jobs_in(log: bytes, process: bytes) -> dict[str, bytes]:
    """What a log holds of jobs of pools, whose next process may be another: a log for each.

    Call sites are numbered anew, so that logs of one job from several processes can be joined.
    """
    jobs: dict[bytes, tuple[str, bytes]] = {}
    found: dict[str, bytes] = {}
    for line in log.split(b"\n"):
        fields = line.split(b"\t")
        if fields[0] == b"s" and len(fields) > 3 and _JOB.fullmatch(fields[3]):
            jobs[fields[1]] = (fields[3].decode("ascii"), process + b"." + fields[1])
            at = 1
        elif fields[0] in (b"t", b"r", b"w") and len(fields) > 3 and fields[2] in jobs:
            at = 2
        else:
            continue
        job, fields[at] = jobs[fields[at]]
        found[job] = found.get(job, b"") + b"\t".join(fields) + b"\n"
    return found
