"""Which process of its run this one is: its number and name, its log, and the recorder's page.

Loaded in every Python of a run, so nothing is imported that Python has not loaded already. A run
that is over, or a folder that cannot be used, makes all of this silent: the agent goes on.
"""

import os
import sys
from itertools import chain, count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List

PROTECTED = (500, 200, 50)
"""Lowest descriptor of a log: an agent that closes "all" of its own seldom comes so far. The lower
ones are for where so many may not be open."""
SLOTS = 4096
PAGE_SIZE = 64 + 8 * SLOTS
PROCESS_SLOT, REST_SLOT = 8, 8
"""Where the turns of process N stand, in words of 8 bytes: at 8 + N; those of nobody known at 8."""


class Run:
    """This process among those of its run. `live` is False where nobody listens."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.live = False
        self.settings: "Dict[str, Any]" = {}
        self.number = 0
        self.name = self.parent = ""
        self.turn_slot = REST_SLOT
        self.words: "Any" = None
        self.signed: "Any" = None
        self._log = -1
        self._forks = 0
        self.is_fork = False
        self._base = ""
        self.renewed: "List[Any]" = []

    # Joining.

    def join(self) -> None:
        """Take a number and say hello; leave the run alone where that does not work."""
        try:
            with open(self.folder + "/settings.json", encoding="utf-8") as settings:
                self.settings = _read_json(settings.read())
            self._base = _base_name() + _which_child()
            self.parent = os.environ.get("RERAIL_PARENT", "")
            self._enter(self._key(self.parent, "python"), "python")
        except (OSError, ValueError, KeyError):
            self.live = False
            return
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._about_to_fork, after_in_child=self._forked)

    def _key(self, parent: str, kind: str) -> str:
        return digest("\0".join((parent, kind, self._base)))

    def _enter(self, key: str, kind: str, numbers: "Iterable[int]" = ()) -> None:
        n = self._claim_name(key, numbers or self._likely(key))
        self.number, self._log = self._claim_number()
        self.name = "%s.%d" % (key, n)
        self.turn_slot = PROCESS_SLOT + self.number if self.number < SLOTS else 2
        self._map_page()
        self.live = True
        self._hello(key, n, kind)
        os.environ["RERAIL_PARENT"] = self.name
        self._label_traffic()

    def _likely(self, key: str) -> "List[int]":
        """In a replay, the numbers whose process was started with the same words."""
        if self.settings["mode"] == "record":
            return []
        numbers, ours = [], _words()[1:]
        for name in os.listdir(self.folder + "/v"):
            before, _, n = name.rpartition(".")
            if before == key and _words_of(self.folder + "/v/" + name)[1:] == ours:
                numbers.append(int(n))
        return sorted(numbers)

    def _claim_name(self, key: str, numbers: "Iterable[int]") -> int:
        """The first of these numbers that is free, else the lowest; siblings may race for one."""
        for n in chain(numbers, count()):
            try:
                path = "%s/k/%s.%d" % (self.folder, key, n)
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
                return n
            except FileExistsError:
                continue
        raise AssertionError

    def _claim_number(self) -> "tuple[int, int]":
        number = len(os.listdir(self.folder + "/p")) + 1
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        while True:
            try:
                return number, _out_of_the_way(os.open(self._log_path(number), flags, 0o600))
            except FileExistsError:
                number += 1

    def _log_path(self, number: int) -> str:
        return "%s/p/%d.log" % (self.folder, number)

    def _map_page(self) -> None:
        if self.words is not None:
            return
        import mmap

        page = os.open(self.folder + "/page", os.O_RDONLY | os.O_CLOEXEC)
        try:
            mapped = memoryview(mmap.mmap(page, PAGE_SIZE, access=mmap.ACCESS_READ))
        finally:
            os.close(page)
        self.words, self.signed = mapped.cast("Q"), mapped.cast("q")

    def _hello(self, key: str, n: int, kind: str) -> None:
        said = (
            ("pid", str(os.getpid())),
            ("ppid", str(os.getppid())),
            ("argv", "[%s]" % ",".join(map(_quoted, _words()))),
            ("executable", _quoted(sys.executable or "")),
            ("version", _quoted("%d.%d.%d" % sys.version_info[:3])),
            ("key", _quoted(key)),
            ("n", str(n)),
            ("cwd", _quoted(_folder())),
            ("kind", _quoted(kind)),
            ("inside", _inside()),
        )
        body = ",".join('"%s":%s' % pair for pair in said)
        self.write(b"hello\t{%s}\n" % body.encode("ascii"))

    def _label_traffic(self) -> None:
        """The user name of a proxy's address says which process of the run calls."""
        url = os.environ.get("RERAIL_PROXY", "")
        before, colon, rest = url[len("http://") :].partition(":")
        if not colon or before == "p%d" % self.number:
            return
        ours = "http://p%d:%s" % (self.number, rest)
        for name, value in list(os.environ.items()):
            if value == url:
                os.environ[name] = ours

    # A fork is another process, and the parent's count says which.

    def _about_to_fork(self) -> None:
        self._forks += 1

    def _forked(self) -> None:
        if not self.live:
            return
        self.parent, n, self._forks = self.name, self._forks - 1, 0
        self.is_fork = True
        before, self._log = self._log, -1
        try:
            if not os.get_blocking(before):
                os.close(before)
        except OSError:
            pass
        for renew in self.renewed:
            renew()
        try:
            self._enter(self._key(self.parent, "fork"), "fork", (n,))
        except OSError:
            self.live = False

    # What it writes and reads.

    def turn(self) -> int:
        """How many model calls this process has made; those of nobody known count for all."""
        words = self.words
        return words[self.turn_slot] + words[REST_SLOT]  # type: ignore[no-any-return]

    def gone_live(self) -> bool:
        """Whether what follows is no replay any more: the true clock, and entropy of its own."""
        return bool(self.words[6] & 1)

    def write(self, line: bytes) -> None:
        """Add a line to the log; one that an agent has closed is opened again.

        A log does not block, which means nothing for a file: so one of the agent's that has its
        number now is told apart, far quicker than by its inode.
        """
        try:
            if not os.get_blocking(self._log):
                os.write(self._log, line)
                return
        except OSError:
            pass
        self._write_anew(line)

    def _write_anew(self, line: bytes) -> None:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
            self._log = _out_of_the_way(os.open(self._log_path(self.number), flags))
            os.write(self._log, line)
        except OSError:
            self.live = False

    def missing(self, what: str, detail: str = "") -> None:
        """Say that something happened which could not be recorded, or given back."""
        text = "missing\t%s\t%s" % (_in_one_field(what), _in_one_field(detail))
        if self.live:
            self.write(text.encode("utf-8", "replace") + b"\n")

    def recorded(self, name: str) -> bytes:
        """In a replay, the recorded log of a process or a pool's job; empty where there is none."""
        try:
            with open("%s/v/%s" % (self.folder, name), "rb") as log:
                return log.read()
        except OSError:
            return b""


def _out_of_the_way(descriptor: int) -> int:
    for lowest in PROTECTED:
        for high in range(lowest, lowest + 100):
            try:
                os.fstat(high)
            except OSError:
                break
        else:
            continue
        try:
            os.dup2(descriptor, high, inheritable=False)
        except OSError:
            continue
        os.close(descriptor)
        return high
    return descriptor


def digest(text: str) -> str:
    """16 hexadecimal digits of its SHA-256, by the module in C that is there before `hashlib`."""
    content = text.encode("utf-8", "surrogateescape")
    for name in ("_sha2", "_sha256") if sys.version_info >= (3, 12) else ("_sha256",):
        try:
            return __import__(name).sha256(content).hexdigest()[:16]  # type: ignore[no-any-return]
        except (ImportError, AttributeError):
            continue
    import hashlib

    return hashlib.sha256(content).hexdigest()[:16]


def _quoted(text: str) -> str:
    """A JSON string; the encoder in C is there before `json` is."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import py_encode_basestring_ascii as encode_basestring_ascii
    return encode_basestring_ascii(text)


class _Plain:
    """What the scanner in C asks of a decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo = {}  # type: Dict[str, str]  # noqa: RUF012 - it is what the scanner asks for


def _read_json(text: str) -> "Dict[str, Any]":
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(text)  # type: ignore[no-any-return]
    try:
        return make_scanner(_Plain)(text, 0)[0]  # type: ignore[arg-type,no-any-return]
    except StopIteration:
        raise ValueError("no settings") from None


def _in_one_field(text: str) -> str:
    return " ".join(text.split())[:2000]


def _inside() -> str:
    """The number of the recorded child that this process is part of."""
    number = os.environ.get("RERAIL_INSIDE", "")
    return number if number.isdigit() else "0"


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _words() -> "List[str]":
    """The words this process was started with, the interpreter's own options included."""
    words = getattr(sys, "orig_argv", None)
    if words:
        return list(words)
    try:
        with open("/proc/self/cmdline", "rb") as line:
            return [word.decode("utf-8", "replace") for word in line.read().split(b"\0")[:-1]]
    except OSError:
        return [sys.executable or "", *getattr(sys, "argv", [])]


def _which_child() -> str:
    """Set by a parent that counts what it starts (`_rerail_spawn`)."""
    number = os.environ.pop("RERAIL_CHILD", "")
    return "\0" + number if number else ""


def _words_of(log: str) -> "List[str]":
    """The words that a recorded process says it was started with."""
    try:
        with open(log, encoding="utf-8", errors="replace") as lines:
            kind, _, said = lines.readline().partition("\t")
        return list(_read_json(said)["argv"]) if kind == "hello" else []
    except (OSError, ValueError, KeyError):
        return []


RUNNERS = {
    "pdb": ("-c", "--command"),
    "cProfile": ("-o", "--outfile", "-s", "--sort"),
    "profile": ("-o", "--outfile", "-s", "--sort"),
    "trace": ("-f", "--file", "-C", "--coverdir", "--ignore-module", "--ignore-dir"),
    "debugpy": ("--listen", "--connect", "--log-to", "--configure-subProcess"),
    "runpy": (),
}
"""Modules that run another program, and their options that take a word."""


def _base_name() -> str:
    """The main script's base name, or `-c`, `-m name`, `-`; of the program that a debugger runs."""
    first = (getattr(sys, "argv", None) or [""])[0]
    if first != "-m":
        return os.path.basename(first) or "-"
    words = _words()
    for at, word in enumerate(words):
        if word.startswith("-m"):
            rest = words[at + 1 :] if word == "-m" else [word[2:], *words[at + 1 :]]
            return _run_under(rest) or "-m " + "".join(rest[:1])
    return "-m"


def _run_under(words: "List[str]") -> str:
    """What `-m debugger OPTIONS SCRIPT` runs: named as without the debugger. Nothing if none."""
    module, rest = "".join(words[:1]), iter(words[1:])
    if module not in RUNNERS:
        return ""
    for word in rest:
        if word == "-m" or module == "runpy":
            return "-m " + (next(rest, "") if word == "-m" else word)
        if not word.startswith("-"):
            return os.path.basename(word)
        if word in RUNNERS[module]:
            next(rest, "")
    return ""


RUN = Run(os.environ.get("RERAIL_RUN", ""))
