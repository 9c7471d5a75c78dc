"""How the command line writes: sizes, times, plurals, tables, JSON. Knows nothing of tapes.

A terminal gets aligned columns and a little colour; a pipe gets tabs, plain numbers and no colour.
Text from a tape is a stranger's: what could move the cursor, change a title or turn the reading
direction is written out as an escape (`\\x1b`, `\\u202e`) before it is printed.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, Literal

import click

# Controls (C0, DEL, C1), line and paragraph separators, direction overrides and isolates, invisible
# marks, lone surrogates (bytes that were no UTF-8), tags that no font shows.
_UNSAFE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSAFE_IN_LINE: Final = re.compile(f"[\t\n{_UNSAFE}]")
_UNSAFE_IN_BLOCK: Final = re.compile(f"[{_UNSAFE}]")

_PAIR: Final = re.compile(r"\[\n +(-?\d+),\n +(-?\d+)\n +\]")
"""A row of a chunk table in indented JSON; no string holds a line end as it is."""

_WIDE: Final = 100
"""Columns."""

_NS_IN_SECOND: Final = 1_000_000_000


def one_line(text: str) -> str:
    """Foreign text made safe to print inside a line: no control character is left in it."""
    return _UNSAFE_IN_LINE.sub(_escaped, text)


def block(text: str) -> str:
    """The same for text of several lines: line ends and tabs stay."""
    return _UNSAFE_IN_BLOCK.sub(_escaped, text.replace("\r\n", "\n"))


def is_safe(text: str) -> bool:
    """Whether a block of text may go to a terminal as it is."""
    return _UNSAFE_IN_BLOCK.search(text.replace("\r\n", "\n")) is None


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # a byte that was no UTF-8, as `surrogateescape` hides it
    if code < 0x100:
        return {9: r"\t", 10: r"\n", 13: r"\r"}.get(code) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def for_person(*, err: bool = False) -> bool:
    """Whether a person looks at standard output (or standard error) on a terminal."""
    return (sys.stderr if err else sys.stdout).isatty()


def is_narrow() -> bool:
    """Whether a person looks at a terminal on which a wide table would be crushed."""
    from shutil import get_terminal_size

    return for_person() and get_terminal_size().columns < _WIDE


def styled(text: str, *, err: bool = False, **style: str | bool) -> str:
    """Text in colour or bold, where a person looks and `NO_COLOR` is not set (no-color.org).

    `err`: it goes to standard error.
    """
    return click.style(text, **style) if may_style(err=err) else text  # type: ignore[arg-type]  # by click


def may_style(*, err: bool = False) -> bool:
    """Whether colour is wanted on standard output (or standard error)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return for_person(err=err) and not plain


def say(text: str = "", *, end: str = "\n") -> None:
    """Write to standard output, whatever its encoding can spell."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding) + end, nl=False)


def grouped(number: int) -> str:
    """`1 234 567`, as ISO 31-0 groups digits; four digits are grouped too."""
    return f"{number:,}".replace(",", " ")


def quantity(count: int, noun: str, plural: str = "") -> str:
    """`1 exchange`, `2 exchanges`, `1 234 bytes`."""
    return f"{grouped(count)} {noun if count == 1 else plural or noun + 's'}"


def size_text(size: int) -> str:
    """Bytes for a person, in powers of 1000: `20 B`, `1.2 kB`, `3.4 MB`."""
    if abs(size) < 1000:
        return f"{size} B"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if abs(value) < 999.5:
            return f"{value:.{0 if abs(value) >= 99.95 else 1}f} {unit}"
    return f"{value / 1000:.1f} TB"


def duration(nanoseconds: int) -> str:
    """A span of time for a person, in about three digits: `340 µs`, `1.24 s`, `2 min 3 s`."""
    if nanoseconds < 0:
        return f"-{duration(-nanoseconds)}"
    if nanoseconds < 999_500:
        return f"{round(nanoseconds / 1000)} µs"
    if nanoseconds < 99_950_000:
        return f"{nanoseconds / 1e6:.3g} ms"
    if nanoseconds < 999_500_000:
        return f"{nanoseconds / 1e6:.0f} ms"
    if nanoseconds < 59_950_000_000:
        return f"{nanoseconds / 1e9:.3g} s"
    minutes, seconds = divmod(round(nanoseconds / _NS_IN_SECOND), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{grouped(hours)} h {minutes} min"


def seconds(nanoseconds: int) -> str:
    """A span of time for a machine: seconds to the microsecond, `12.345678`."""
    sign, span = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    whole, rest = divmod(span, _NS_IN_SECOND)
    return f"{sign}{whole}.{rest // 1000:06d}"


def utc(wall: int) -> str:
    """Nanoseconds since 1970 as a UTC time to the millisecond, `2026-03-04 05:06:07.890Z`."""
    return _utc(wall, f".{wall % _NS_IN_SECOND // 1_000_000:03d}Z")


def utc_second(wall: int) -> str:
    """The same to the second, where nothing happens faster: `2026-03-04 05:06:07Z`."""
    return _utc(wall, "Z")


def _utc(wall: int, rest: str) -> str:
    try:
        return f"{datetime.fromtimestamp(wall // _NS_IN_SECOND, UTC):%Y-%m-%d %H:%M:%S}{rest}"
    except (OverflowError, ValueError, OSError):
        return f"{wall} ns since 1970"


def json_text(value: object) -> str:
    """One JSON document, safe for a terminal too: a few characters in strings are escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_unknown)
    return _UNSAFE_IN_BLOCK.sub(_json_escaped, _PAIR.sub(r"[\1, \2]", text))


def json_line(value: object) -> str:
    """The same on one line."""
    return _UNSAFE_IN_BLOCK.sub(
        _json_escaped, json.dumps(value, ensure_ascii=False, default=_unknown)
    )


def json_array(items: Iterable[object]) -> Iterator[str]:
    """The lines of a JSON array, written while the items come."""
    before = "[\n"
    for item in items:
        yield before + json_line(item)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _unknown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _json_escaped(match: re.Match[str]) -> str:
    """RFC 8259 section 7: beyond the basic plane an escape is a pair of surrogates."""
    return json.dumps(match[0]).strip('"') if match[0] != "\x7f" else r"\u007f"


def table(
    rows: Sequence[Sequence[str]],
    *,
    headers: Sequence[str],
    right: Sequence[int] = (),
    yielding: Sequence[int] = (),
    spare: Sequence[int] = (),
    failed: Sequence[bool] = (),
) -> None:
    """Print rows: in columns under headers for a person, else with tabs and no headers.

    `right` names the columns (from 0) of numbers, `yielding` those that give way where the terminal
    is narrow, `spare` those that are not shown there; rows that are `failed` are red. Cells are
    made safe here.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not for_person():
        for row in cells:
            say("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    kept = [index for index in range(len(headers)) if not (is_narrow() and index in spare)]
    for index in kept:
        drawn.add_column(
            headers[index],
            justify="right" if index in right else "left",
            no_wrap=index not in yielding,
            overflow="ellipsis",
        )
    for index, row in enumerate(cells):
        style = "red" if failed and failed[index] else None
        drawn.add_row(*(Text(row[column]) for column in kept), style=style)
    colours: Literal["auto"] | None = "auto" if may_style() else None
    Console(color_system=colours, highlight=False, markup=False, emoji=False).print(drawn)
