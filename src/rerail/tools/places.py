"""From an offset in a text to a line and a column. Pure."""

import re
from typing import Final

_LINE_ENDS: Final = re.compile("\r\n|[\n\r\u2028\u2029]")
_MARK: Final = "\ufeff"


def place_of(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of an offset in UTF-16 units; a byte order mark is not counted."""
    units = text.removeprefix(_MARK).encode("utf-16-le", "surrogatepass")
    before = units[: offset * 2].decode("utf-16-le", "surrogatepass")
    lines = _LINE_ENDS.split(before)
    return len(lines), units_in(lines[-1]) + 1


def units_in(text: str) -> int:
    """How many UTF-16 units a text has."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def units_before(text: str, line: int, column: int) -> int:
    """How many UTF-16 units stand before a column that counts characters, from 1."""
    lines = text.removeprefix(_MARK).splitlines()
    before = lines[line - 1][: column - 1] if 0 < line <= len(lines) else ""
    return units_in(before) + max(0, column - 1 - len(before))
