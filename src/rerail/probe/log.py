"""The log that a probe writes: one record a line, tab separated. Pure; imports nothing of rerail.

`hello` says who writes; `s` names a call site, `t` is a time and `r` entropy handed out there,
`missing` something that passed by, `wrote` a path that was opened for writing. The recorder adds a
`k` for each model call of the process: which turn it was from there on. Unknown kinds are kept.
"""

import re
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

_Read = TypeVar("_Read")

_MANY: Final = 10**9
_KEY: Final = re.compile(r"[0-9a-f]{16}")
_TURN: Final = re.compile(rb"^k\t([0-9]{1,9})$", re.MULTILINE)
_NO_BYTE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_JOB: Final = re.compile(rb"@[0-9a-f]{16}")


_Number = Annotated[int, Meta(ge=0, lt=1 << 31)]


class Hello(Struct, frozen=True):
    """Who writes a log. `key` and `n` are the same for the same process of a replay.

    `inside` is the number of the recorded child that it is part of, 0 for none.
    """

    pid: _Number = 0
    ppid: _Number = 0
    argv: list[str] = []
    executable: str = ""
    version: str = ""
    key: str = ""
    n: _Number = 0
    cwd: str = ""
    kind: str = ""
    inside: _Number = 0

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
        return _convert(rest, Hello)


def hello_line(hello: Hello) -> bytes:
    """The line that a hello is; stray bytes in its words are spelled out."""
    try:
        return b"hello\t" + msgspec.json.encode(hello) + b"\n"
    except UnicodeEncodeError:
        argv = [_spelled_out(word) for word in hello.argv]
        cwd, executable = _spelled_out(hello.cwd), _spelled_out(hello.executable)
        return hello_line(replace(hello, argv=argv, cwd=cwd, executable=executable))


def read_words(content: bytes) -> object:
    """What JSON holds whose words need not be Unicode. Raises ValueError, RecursionError.

    Python says a stray byte as a lone surrogate (PEP 383). Strings of Node may hold any: what is no
    byte's is replaced, as Node itself does for a child.
    """
    import json  # few logs need it

    return _without_strays(json.loads(content))


def _without_strays(value: object) -> object:
    match value:
        case str():
            return _NO_BYTE.sub("\ufffd", value)
        case list():
            return [_without_strays(item) for item in value]
        case dict():
            return {_without_strays(name): _without_strays(item) for name, item in value.items()}
    return value


def _convert(content: bytes, kind: type[_Read]) -> _Read | None:
    try:
        return msgspec.convert(read_words(content), kind)
    except (ValueError, RecursionError):
        return None


def _spelled_out(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


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
        return _convert(rest, str)


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
    found: dict[str, list[bytes]] = {}
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
        found.setdefault(job, []).append(b"\t".join(fields) + b"\n")
    return {job: b"".join(lines) for job, lines in found.items()}
