"""What the formats share: messages numbered as they come, times as nanoseconds, gaps.

Knows no format.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from rerail.formats.file import Foreign
from rerail.llm.view import Message, Usage
from rerail.trace.story import Gap, Said, Story

_SECOND: Final = 10**9
_MILLISECONDS: Final = 10**11
_MICROSECONDS: Final = 10**14
_NANOSECONDS: Final = 10**17
_FAR: Final = 10**20
_MOST_DIGITS: Final = 20

NO_WIRE: Final = Gap(
    "imported, not recorded: no bytes of any request or reply",
    "what was really asked and told; whether this file leaves something out",
)
NO_SCHEMAS: Final = Gap("no schemas of the tools", "whether a call keeps to what the tool takes")
NO_TIMES: Final = Gap("no times", "what took long, and what was at the same time")
NO_END: Final = Gap("no record of the end", "whether the run ended here, or its file was cut short")
NO_REASONS: Final = Gap("no finish reasons", "whether a reply was cut at its length limit")


@dataclass(slots=True)
class Teller:
    """A story being told: each message gets its number, or that of its line.

    Where a line holds several messages, those behind its first are counted, so that each has a
    place of its own.
    """

    source: str
    said: list[Said] = field(default_factory=list)
    _in_line: tuple[int, int] = (0, 0)

    def say(self, message: Message, *, line: int = 0, **fields: Any) -> None:
        """Add a message; `line` is where it stands in a file of lines."""
        order = max(line or len(self.said) + 1, self.said[-1].order if self.said else 0)
        at, before = self._in_line
        self._in_line = (line, before + 1 if line == at else 1)
        ref = f"line {line}" if line else f"message {order}"
        if line and line == at:
            ref += f", message {before + 1}"
        self.said.append(Said(order, ref, message, **fields))

    def story(
        self,
        file: Foreign,
        gaps: Iterable[Gap],
        *,
        tools: Mapping[str, Mapping[str, Any]] | None = None,
        ended: str = "",
        ids: Mapping[str, str] | None = None,
    ) -> Story:
        """The whole, with what such a file cannot show."""
        named = [NO_WIRE, *gaps, *torn(file)]
        if not any((tools or {}).values()):
            named.append(NO_SCHEMAS)
        if not any(said.at for said in self.said):
            named.append(NO_TIMES)
        if not ended:
            named.append(NO_END)
        if not any(said.finish_reason for said in self.said):
            named.append(NO_REASONS)
        known = {name: value for name, value in (ids or {}).items() if value}
        return Story(self.source, False, tuple(self.said), tools or {}, ended, tuple(named), known)


def torn(file: Foreign) -> list[Gap]:
    """Lines that could not be read, as a gap."""
    if not file.torn:
        return []
    some = ", ".join(map(str, file.torn[:8]))
    more = f" and {len(file.torn) - 8} more" if len(file.torn) > 8 else ""
    return [Gap(f"lines that are no JSON: {some}{more}", "whatever stood there")]


def wall_of(value: Any) -> int | None:
    """A time as nanoseconds since 1970: ISO 8601, or a number of seconds or smaller parts."""
    if isinstance(value, str):
        number = whole_number(value)
        if number is not None:
            return wall_of(number)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return int(moment.timestamp()) * _SECOND + moment.microsecond * 1000
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _FAR:
        return None
    if value < _MILLISECONDS:
        return round(value * _SECOND)
    if value < _MICROSECONDS:
        return round(value * 10**6)
    return int(value) if value >= _NANOSECONDS else round(value * 1000)


def whole_number(text: str) -> int | None:
    """What a text of digits says; None for any other, and for more digits than anything counts."""
    digits = text.removeprefix("-")
    if len(digits) > _MOST_DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    return int(text)


def usage_of(read: Any, written: Any) -> Usage | None:
    """Tokens, where either is a whole number."""
    tokens = [whole(read), whole(written)]
    return Usage(*tokens) if any(count is not None for count in tokens) else None


def whole(value: Any) -> int | None:
    """A whole number, or a text of one; else None."""
    if isinstance(value, str):
        return whole_number(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
