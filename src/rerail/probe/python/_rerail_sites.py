"""Where a value is asked for: the innermost frame outside Python's own library, by its text.

File name, function and the text of the line, never its number: a line added above or beside it
changes nothing for the others. Each site counts what it was given within a turn.
"""

import os
import sys
from _contextvars import ContextVar
from itertools import count

from _rerail_run import RUN, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Dict, List, Optional, Tuple

    Values = Tuple[List[int], List[bytes], List[float]]
    Given = Dict[Tuple[str, int, str], Values]

LIMIT = 4096
"""Values of one site in one turn that are written down."""
CODES_KEPT = 20000

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = (_LIBRARY + "site-packages" + os.sep, _LIBRARY + "dist-packages" + os.sep)
_OURS = os.path.dirname(__file__) + os.sep


class _Mode:
    """What was recorded, in a replay; None while recording."""

    recorded: "Optional[Recorded]" = None


class Site:
    """One call site: what it was given in the present turn."""

    __slots__ = (
        "count",
        "declared",
        "drawn",
        "entropy",
        "left",
        "lefts",
        "number",
        "scope",
        "streams",
        "text",
        "times",
        "turn",
    )

    def __init__(self, text: str, scope: str = "") -> None:
        self.text = text
        self.scope = scope
        self.number = next(_numbers)
        self.declared = False
        self.begin(-1)

    def begin(self, turn: int) -> None:
        """A new turn: counting starts again."""
        self.turn = turn
        self.count = 0
        self.drawn = 0
        self.times: "Any" = ()
        self.entropy: "Any" = ()
        self.left = 0
        self.lefts: "Any" = ()
        self.streams: "Dict[str, Any]" = {}
        if _Mode.recorded is not None and turn >= 0:
            recorded = _Mode.recorded.of(self.scope, turn, self.text)
            self.times, self.entropy, self.lefts = recorded

    def declare(self) -> int:
        """Its number in the log, said there before it is used."""
        if not self.declared:
            self.declared = True
            fields = ["s", str(self.number), self.text, *([self.scope] if self.scope else [])]
            RUN.write("\t".join(fields).encode("utf-8", "replace") + b"\n")
        return self.number


class Scope:
    """Work that goes on beside other work: its sites are its own, and it has no turns.

    The name of a pool's job begins with `@`: it is the same in whichever process it is done.
    """

    __slots__ = ("_sites", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._sites: "Dict[str, Site]" = {}

    @classmethod
    def begun_at(cls, frame: "FrameType", kind: str) -> "Scope":
        """The scope of what is started now, from the frame of whoever starts it.

        Kinds are counted apart: how many threads a pool starts for its calls is left to chance.
        """
        site = asking(frame)
        started = site.streams.get(kind, 0)
        site.streams[kind] = started + 1
        name = digest("\0".join((site.scope, str(site.turn), site.text, kind, str(started))))
        return cls("@" + name if site.scope.startswith("@") else name)

    @classmethod
    def of_job(cls, name: str) -> "Scope":
        """The scope of a job, by a name that every process of its pool gives it."""
        return cls("@" + digest(name))

    def site(self, site: Site) -> Site:
        """A site within this scope."""
        found = self._sites.get(site.text)
        if found is None:
            found = self._sites[site.text] = Site(site.text, self.name)
        return found


def asking(frame: "FrameType") -> Site:
    """The site that asks, in the present scope and turn."""
    site, scope = site_of(frame), SCOPE.get()
    if scope is None:
        turn = RUN.turn()
    else:
        site, turn = scope.site(site), 0
    if site.turn != turn:
        site.begin(turn)
    return site


class Recorded:
    """In a replay, what was given in the recording, by scope, turn and site."""

    def __init__(self) -> None:
        self._given: "Dict[str, Given]" = {}

    def forget(self) -> None:
        """The process has become another one."""
        self._given.clear()

    def of(self, scope: str, turn: int, text: str) -> "Values":
        """Times, entropy and what was left of time-outs, as a site was given them in a turn."""
        log = scope if scope.startswith("@") else RUN.name
        if log not in self._given:
            self._given[log] = _read(RUN.recorded(log))
        return self._given[log].get((scope, turn, text), ([], [], []))


def _read(log: bytes) -> "Given":
    texts: "Dict[bytes, Tuple[str, str]]" = {}
    given: "Given" = {}
    for line in log.split(b"\n"):
        fields = line.split(b"\t")
        try:
            if fields[0] == b"s":
                scope = fields[3].decode("ascii", "replace") if len(fields) > 3 else ""
                texts[fields[1]] = (scope, fields[2].decode("utf-8", "replace"))
            elif fields[0] in (b"t", b"r", b"w"):
                scope, text = texts[fields[2]]
                values = given.setdefault((scope, int(fields[1]), text), ([], [], []))
                if fields[0] == b"t":
                    values[0].append(int(fields[3]))
                elif fields[0] == b"r":
                    values[1].append(bytes.fromhex(fields[3].decode("ascii")))
                else:
                    values[2].append(float(fields[3]))
        except (IndexError, KeyError, ValueError):
            continue
    return given


SCOPE: "ContextVar[Optional[Scope]]" = ContextVar("rerail scope", default=None)
_numbers = count(1)
_codes: "Dict[int, Tuple[CodeType, Optional[Dict[int, Site]]]]" = {}
_sites: "Dict[str, Site]" = {}
_lines: "Dict[str, Optional[List[str]]]" = {}


def site_of(frame: "FrameType") -> Site:
    """The site that asks, from the frame of whoever called the hooked function."""
    caller: "Optional[FrameType]" = frame
    while caller is not None:
        code = caller.f_code
        known = _codes.get(id(code)) or _learn(code)
        places = known[1]
        if places is not None:
            return places.get(caller.f_lasti) or _new_place(caller, places)
        caller = caller.f_back
    return _site(frame)


def _learn(code: "CodeType") -> "Tuple[CodeType, Optional[Dict[int, Site]]]":
    """Code of the library has no sites: whoever called it has. The code is kept, and so its id."""
    if len(_codes) > CODES_KEPT:
        _codes.clear()
    name = code.co_filename
    library = name.startswith((_OURS, "<frozen ")) or (
        name.startswith(_LIBRARY) and not name.startswith(_PACKAGES)
    )
    known = _codes[id(code)] = (code, None if library else {})
    return known


def _new_place(frame: "FrameType", places: "Dict[int, Site]") -> Site:
    """Code made at run time (a dataclass's `__init__`) asks for the one who called it."""
    asking: "Optional[FrameType]" = frame
    while asking is not None and asking.f_code.co_filename.startswith("<"):
        asking = asking.f_back
        while (
            asking is not None
            and (_codes.get(id(asking.f_code)) or _learn(asking.f_code))[1] is None
        ):
            asking = asking.f_back
    if asking is not None and asking is not frame:
        return _site(asking)
    site = places[frame.f_lasti] = _site(frame)
    return site


def _site(frame: "FrameType") -> Site:
    code = frame.f_code
    name = "%s:%s" % (os.path.basename(code.co_filename), code.co_name)
    line = _hash_of_line(code.co_filename, frame.f_lineno or 0)
    text = "%s:%s" % (" ".join(name.split()), line)
    site = _sites.get(text)
    if site is None:
        site = _sites[text] = Site(text)
    return site


def _hash_of_line(name: str, number: int) -> str:
    if name not in _lines:
        _lines[name] = _read_lines(name)
    lines = _lines[name]
    if lines is None or not 0 < number <= len(lines):
        return "-"
    from zlib import crc32

    return "%08x" % crc32(lines[number - 1].strip().encode("utf-8", "surrogateescape"))


def _read_lines(name: str) -> "Optional[List[str]]":
    if name.startswith("<"):
        return None
    try:
        with open(name, encoding="utf-8", errors="surrogateescape") as source:
            return source.read().split("\n")
    except (OSError, ValueError):
        return None


def _renewed() -> None:
    """A fork: the log is another one, and so is what was recorded; it begins outside any scope."""
    SCOPE.set(None)
    if _Mode.recorded is not None:
        _Mode.recorded.forget()
    for site in _sites.values():
        site.declared = False
        site.begin(-1)


def prepare() -> None:
    """Be ready for the run's mode."""
    if RUN.settings["mode"] == "replay":
        _Mode.recorded = Recorded()
    RUN.renewed.append(_renewed)


getframe = sys._getframe
