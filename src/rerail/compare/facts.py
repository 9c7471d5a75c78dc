"""Facts of a machine and a day in their common spellings: which recorded one stands for which now.

Only facts that both sides know and that differ are looked for. Given the facts; asks no machine.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from posixpath import relpath
from typing import Final
from urllib.parse import quote

RULE: Final = "fact: "
KINDS: Final = {
    "cwd": "the folder that the command works in",
    "home": "the home folder",
    "user": "the user's name",
    "host": "the machine's name",
    "kernel": "the release of the kernel",
    "system": "the name of the operating system",
    "machine": "the kind of processor",
    "date": "the calendar date",
    "timezone": "the time zone's offset",
    "timezone_name": "the time zone's name",
    "git_head": "the commit that is checked out",
    "git_branch": "the branch that is checked out",
}
"""The facts that may stand for each other, and what each is, in the order of their trial."""

EXPLAINED: Final = {
    RULE + name.replace("_", " "): f"{what} differs from the recording's, in the same place"
    for name, what in KINDS.items()
}

_WORDS: Final = """
    admin agent agents app assistant build code data debian default develop docker feature guest
    home linux local localhost main master model node release root runner server service shell
    staging system test tester testing tool tools trunk ubuntu unknown user username work worker
"""
_COMMON: Final = frozenset(_WORDS.split())
"""Names that are words too: such a name says little about where it stands."""
_SHORTEST: Final = 4
_DATE: Final = RULE + "date"
_BEFORE: Final = re.compile(r"(?:[^\w.\\-]|\\[nrtbf]|://)\Z")
_GOES_ON: Final = re.compile(r"[\w-]|\.\w")
_YEAR: Final = re.compile(r"\d{4}$|^\d{4}")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_ORDINALS: Final = {1: "st", 2: "nd", 3: "rd"}
_FEW: Final = 64
_LONGEST: Final = 48
"""Characters of a date, at most, with its weekday and its month in words."""
_MOST_DAYS: Final = 31
"""Days of a long recording whose dates are known."""


class Facts:
    """The facts of a recording and of the present that differ, ready to be found in texts.

    `days` is how many midnights the recording lasted over: each of its dates is the present one.
    """

    __slots__ = ("_by_part", "_rules")

    def __init__(
        self, recorded: Mapping[str, str], now: Mapping[str, str], *, days: int = 0
    ) -> None:
        self._rules: dict[tuple[str, str], str] = {}
        for name in KINDS:
            old, new = recorded.get(name, ""), now.get(name, "")
            if old and new:
                self._add(name, _spellings(name, old, new, min(days, _MOST_DAYS)))
        there, here = _from_folder(recorded), _from_folder(now)
        if there and here:
            self._add("home", [(there, here)])
        self._by_part: dict[str, set[str]] = {}
        for pair, rule in self._rules.items():
            for text in pair:
                # A date has many spellings; most texts do not even have its year.
                year = _YEAR.search(text) if rule == _DATE else None
                self._by_part.setdefault(year[0] if year else text, set()).add(text)

    def _add(self, name: str, pairs: Iterable[tuple[str, str]]) -> None:
        for pair in pairs:
            if pair[0] != pair[1]:
                self._rules.setdefault(pair, RULE + name.replace("_", " "))

    def find(self, text: str) -> list[tuple[int, int]]:
        """Where a spelling of either side stands as a whole word: from the left, the longest."""
        there = [
            (at, -len(known))
            for part, spellings in self._by_part.items()
            if part in text
            for known in _among(spellings, part, text)
            for at in _whole(known, text)
        ]
        found: list[tuple[int, int]] = []
        end = 0
        for at, size in sorted(there):
            if at >= end:
                end = at - size
                found.append((at, end))
        return found

    def rule(self, recorded: str, now: str) -> str | None:
        """The rule under which a recorded spelling and a present one are one fact."""
        return self._rules.get((recorded, now))


def _among(spellings: set[str], part: str, text: str) -> list[str]:
    """The spellings that stand in a text, of which all have a part: looked for around that part."""
    if len(spellings) > 1 and text.count(part) <= _FEW:
        around = []
        at = text.find(part)
        while at >= 0:
            around.append(text[max(0, at - _LONGEST) : at + _LONGEST])
            at = text.find(part, at + 1)
        text = "\0".join(around)
    return [known for known in spellings if known in text]


def _whole(known: str, text: str) -> Iterator[int]:
    """Where a spelling stands that is no part of a longer path, name or number.

    Behind `\\n` and the like in a JSON text that stands inside a string, a spelling begins too.
    """
    at = text.find(known)
    while at >= 0:
        end = at + len(known)
        begins = not at or _BEFORE.search(text, max(0, at - 3), at)
        if begins and not _GOES_ON.match(text, end):
            yield at
        at = text.find(known, end)


def _spellings(name: str, old: str, new: str, days: int) -> list[tuple[str, str]]:
    if name == "date":
        return _of_dates(old, new, days)
    spell = _SPELLED.get(name, _itself)
    return list(zip(spell(old), spell(new), strict=False)) if _tells(name, old, new) else []


def _tells(name: str, old: str, new: str) -> bool:
    """Whether both say what they are wherever they stand: too short or too common ones do not."""
    if min(len(old), len(new)) < _SHORTEST:
        return False
    if name in ("user", "host", "git_branch"):
        return not {old.lower(), new.lower()} & _COMMON
    return name != "timezone_name" or ("/" in old and "/" in new)


def _itself(text: str) -> Sequence[str]:
    return (text,)


def _of_path(path: str) -> Sequence[str]:
    """As it is, percent-encoded, and with dashes as agents name their folders for a project."""
    dashed = re.sub(r"[^0-9A-Za-z]", "-", path)
    return (path, quote(path, safe="", errors="replace"), dashed if dashed.count("-") > 1 else path)


def _from_folder(facts: Mapping[str, str]) -> str:
    """The home folder as seen from the work folder, where its own name is in that: `../home`."""
    home, cwd = facts.get("home", ""), facts.get("cwd", "")
    if not home.startswith("/") or not cwd.startswith("/"):
        return ""
    path = relpath(home, cwd)
    return path if path.startswith("../") and not path.endswith("..") else ""


def _of_system(name: str) -> Sequence[str]:
    return (name, name.lower())


def _of_zone(zone: str) -> Sequence[str]:
    """`CET+0100`: also as `GMT+0100`, `UTC+01:00`, as languages print an offset."""
    offset = zone[-5:]
    return (zone, f"GMT{offset}", f"UTC{offset}", f"UTC{offset[:3]}:{offset[3:]}")


def _of_commit(commit: str) -> Sequence[str]:
    """Whole, and cut as git and its users cut it."""
    return (commit, *(commit[:length] for length in (12, 11, 10, 9, 8, 7)))


_SPELLED: Final[Mapping[str, Callable[[str], Sequence[str]]]] = {
    "cwd": _of_path,
    "home": _of_path,
    "system": _of_system,
    "timezone": _of_zone,
    "git_head": _of_commit,
}


def _of_dates(old: str, new: str, days: int) -> list[tuple[str, str]]:
    try:
        first, now = date.fromisoformat(old), date.fromisoformat(new)
        recorded = [first + timedelta(days=day) for day in range(days + 1)]
    except (ValueError, OverflowError):
        return []
    return [pair for day in recorded for pair in zip(_of_day(day), _of_day(now), strict=True)]


def _of_day(day: date) -> Sequence[str]:
    """A date as agents and programs write it. A weekday alone says too little to be one."""
    y, m, d = day.year, day.month, day.day
    weekday, month = _DAYS[day.weekday()], _MONTHS[m - 1]
    iso = day.isoformat()
    nth = f"{d}{'th' if d in (11, 12, 13) else _ORDINALS.get(d % 10, 'th')}"
    plain = (
        iso, f"{y}/{m:02}/{d:02}", f"{y}.{m:02}.{d:02}", f"{y}{m:02}{d:02}",
        f"{m:02}/{d:02}/{y}", f"{m}/{d}/{y}", f"{d:02}/{m:02}/{y}", f"{d}/{m}/{y}",
        f"{d:02}.{m:02}.{y}", f"{d}.{m}.{y}", f"{d:02}-{m:02}-{y}",
        f"{month} {d}, {y}", f"{month[:3]} {d}, {y}", f"{month} {d:02}, {y}",
        f"{month[:3]} {d:02}, {y}", f"{d} {month} {y}", f"{d} {month[:3]} {y}",
        f"{d:02} {month[:3]} {y}", f"{d:02} {month} {y}", f"{month[:3]} {d:02} {y}",
        f"{month} {nth}, {y}", f"{month} {nth} {y}", f"{nth} {month} {y}", f"{nth} of {month} {y}",
        f"{month[:3]} {d} {y}", f"{month} {d} {y}", f"{d:02}-{month[:3]}-{y}",
    )  # fmt: skip
    before = [f"{name}{comma} {text}" for name in (weekday, weekday[:3])
              for comma in (",", "") for text in plain]  # fmt: skip
    behind = [f"{iso} ({weekday})", f"{iso}, {weekday}", f"{iso} {weekday}",
              f"{iso} ({weekday[:3]})", f"{iso} {weekday[:3]}"]  # fmt: skip
    return (*plain, *before, *behind, f"{month} {y}", f"{month[:3]} {y}")
