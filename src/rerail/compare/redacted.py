"""Redacted values are wildcards: any value of the same kind, but the same one through the run.

A placeholder is `⟦redacted:KIND:HASH⟧`. Its hash depends on a key that does not travel with the
tape, so the recording's hash and the replay's differ for one secret. What must hold is that they
correspond: one recorded reference to one present reference, both ways.
"""

import re
from typing import Final

from rerail.compare.values import Value, walk

_PLACEHOLDER: Final = re.compile(
    r"(?:⟦|%E2%9F%A6)redacted(?::|%3A)([^:%⟦⟧\s]+)(?::|%3A)([0-9a-f]+)(?:⟧|%E2%9F%A7)",
    re.IGNORECASE,
)

References = tuple[str, ...]
"""`KIND:HASH` of each placeholder, in one fixed order."""


def blank_text(text: str) -> tuple[str, References]:
    """The text with every placeholder's hash taken out, and the references that were in it."""
    if "redacted" not in text:
        return text, ()
    found: list[str] = []

    def _blank(match: re.Match[str]) -> str:
        found.append(f"{match[1]}:{match[2]}")
        return f"⟦redacted:{match[1]}⟧"

    return _PLACEHOLDER.sub(_blank, text), tuple(found)


def blank_bytes(content: bytes) -> tuple[bytes, References]:
    """The same for bytes of no known form; what is not UTF-8 in them stays as it is."""
    if b"redacted" not in content:
        return content, ()
    blanked, found = blank_text(content.decode("utf-8", "surrogateescape"))
    return blanked.encode("utf-8", "surrogateescape"), found


def blank_value(value: Value) -> tuple[Value, References]:
    """The same for a JSON value, changed in place; references come in the order of sorted keys."""
    holder: list[Value] = [value]
    found: list[str] = []
    for container, key in walk(holder):
        item = container[key]  # type: ignore[index]  # walk pairs each container with its own key
        if isinstance(item, str) and "redacted" in item:
            blanked, references = blank_text(item)
            container[key] = blanked  # type: ignore[index]
            found.extend(references)
    return holder[0], tuple(found)


class Correspondence:
    """Which present reference stands for which recorded one, as far as the run has shown."""

    __slots__ = ("_now", "_recorded")

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self._recorded: dict[str, str] = {}

    def allows(self, recorded: References, now: References) -> bool:
        """Whether these could stand for each other, with all that went before.

        A reference always stands for itself: it was played back to the agent and came from there.
        """
        if recorded == now:
            return True
        if len(recorded) != len(now):
            return False
        there, back = dict(self._now), dict(self._recorded)
        return all(
            old == new or (there.setdefault(old, new) == new and back.setdefault(new, old) == old)
            for old, new in zip(recorded, now, strict=True)
        )

    def adopt(self, recorded: References, now: References) -> None:
        """Remember that these stand for each other."""
        for old, new in zip(recorded, now, strict=True):
            if old != new:
                self._now[old] = new
                self._recorded[new] = old
