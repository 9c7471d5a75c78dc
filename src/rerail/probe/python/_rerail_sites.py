"""Where a value is asked for: the innermost frame outside Python's own library, by its text.

File name, function and the text of the line, never its number: a line added above or beside it
changes nothing for the others. Each site counts what it was given within a turn.
"""

import os
import sys

from _rerail_run import RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Dict, List, Optional, Tuple

LIMIT = 4096
"""Values of one site in one turn that are written down."""
CODES_KEPT = 20000

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = (_LIBRARY + "site-packages" + os.sep, _LIBRARY + "dist-packages" + os.sep)
_OURS = os.path.dirname(__file__) + os.sep


class _Mode:
    """What was recorded, in a replay; None while recording."""

    recorded = None  # type: Optional[Recorded]


class Site:
    """One call site: what it was given in the present turn."""

    __slots__ = (
        "count",
        "declared",
        "drawn",
        "entropy",
        "number",
        "streams",
        "text",
        "times",
        "turn",
    )

    def __init__(self, text: str, number: int) -> None:
        self.text = text
        self.number = number
        self.declared = False
        self.begin(-1)

    def begin(self, turn: int) -> None:
        """A new turn: counting starts again."""
        self.turn = turn
        self.count = 0
        self.drawn = 0
        self.times = ()  # type: Any
        self.entropy = ()  # type: Any
        self.streams = {}  # type: Dict[str, Any]
        if _Mode.recorded is not None and turn >= 0:
            self.times, self.entropy = _Mode.recorded.of(turn, self.text)

    def declare(self) -> int:
        """Its number in the log, said there before it is used."""
        if not self.declared:
            self.declared = True
            line = "s\t%d\t%s\n" % (self.number, " ".join(self.text.split()))
            RUN.write(line.encode("utf-8", "replace"))
        return self.number


class Recorded:
    """In a replay, what this process was given in the recording, by turn and site."""

    def __init__(self) -> None:
        self._given = None  # type: Optional[Dict[Tuple[int, str], Tuple[List[int], List[bytes]]]]

    def forget(self) -> None:
        """The process has become another one."""
        self._given = None

    def of(self, turn: int, text: str) -> "Tuple[List[int], List[bytes]]":
        """Times and entropy that a site was given in a turn, in order."""
        if self._given is None:
            self._given = _read(RUN.recorded())
        return self._given.get((turn, text), ([], []))


def _read(log: bytes) -> "Dict[Tuple[int, str], Tuple[List[int], List[bytes]]]":
    texts = {}  # type: Dict[bytes, str]
    given = {}  # type: Dict[Tuple[int, str], Tuple[List[int], List[bytes]]]
    for line in log.split(b"\n"):
        fields = line.split(b"\t")
        try:
            if fields[0] == b"s":
                texts[fields[1]] = fields[2].decode("utf-8", "replace")
            elif fields[0] == b"t":
                key = (int(fields[1]), texts[fields[2]])
                given.setdefault(key, ([], []))[0].append(int(fields[3]))
            elif fields[0] == b"r":
                key = (int(fields[1]), texts[fields[2]])
                given.setdefault(key, ([], []))[1].append(bytes.fromhex(fields[3].decode("ascii")))
        except (IndexError, KeyError, ValueError):
            continue
    return given


_codes = {}  # type: Dict[int, Tuple[CodeType, Optional[Dict[int, Site]]]]
_sites = {}  # type: Dict[str, Site]
_lines = {}  # type: Dict[str, Optional[List[str]]]


def site_of(frame: "FrameType") -> Site:
    """The site that asks, from the frame of whoever called the hooked function."""
    asking = frame  # type: Optional[FrameType]
    while asking is not None:
        code = asking.f_code
        known = _codes.get(id(code)) or _learn(code)
        places = known[1]
        if places is not None:
            return places.get(asking.f_lasti) or _new_place(asking, places)
        asking = asking.f_back
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
    asking = frame  # type: Optional[FrameType]
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
    text = "%s:%s:%s" % (
        os.path.basename(code.co_filename),
        code.co_name,
        _hash_of_line(code.co_filename, frame.f_lineno or 0),
    )
    site = _sites.get(text)
    if site is None:
        site = _sites[text] = Site(text, len(_sites) + 1)
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
    """A fork: the log is another one, and so is what was recorded."""
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
