"""What came to a run from outside, and by when: no identifier in it was made by the client.

Texts are kept as their runs of letters and digits, which is all that an identifier can stand in.
Knows no HTTP and no tape.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from rerail.wire import sse

_RUN: Final = re.compile(r"[0-9a-z_-]{8,}")
_DEPTH: Final = 64
_AT_LEAST: Final = 1 << 16


class Outside:
    """Texts from outside with the number of the event by which each had come; 0 is the beginning.

    What the client said before it came back is an echo, and not from outside: `said` comes first.
    """

    __slots__ = (
        "_echoed",
        "_ends",
        "_known",
        "_new",
        "_new_size",
        "_numbers",
        "_said",
        "_said_text",
        "_text",
    )

    def __init__(self, given: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._said: dict[str, int] = {}
        self._said_text = ""
        self._echoed: set[str] = set()
        self._text = ""
        self._ends: list[int] = []
        self._numbers: list[int] = []
        self._new: list[tuple[int, str]] = []
        self._new_size = 0
        for text in given:
            self.add(0, text)

    def said(self, number: int, text: str) -> None:
        """The client said this in event `number`; texts are told in about that order."""
        for run in _runs(text):
            self._said.setdefault(run, number)
        self._said_text = ""

    def add(self, number: int, text: str) -> None:
        """This had come by event `number`; texts are added in about that order."""
        found = _runs(text) - self._known
        echoed = {run for run in found if run in self._said and self._said[run] <= number}
        self._echoed |= echoed
        runs = found - echoed
        if runs:
            self._known |= runs
            self._new.append((number, "\n".join(runs) + "\n"))
            self._new_size += len(self._new[-1][1])
        if self._new_size > max(_AT_LEAST, len(self._text) // 2):
            self._merge()

    def is_said(self, identifier: str) -> bool:
        """Whether the client said it, at any time."""
        if not self._said_text:
            self._said_text = "\n".join(self._said)
        return identifier.lower() in self._said_text

    def echoes(self, identifier: str) -> bool:
        """Whether what the client had made up came back to it."""
        wanted = identifier.lower()
        return any(wanted in run for run in self._echoed)

    def holds(self, identifier: str, before: int) -> bool:
        """Whether an identifier, in either case and dashed or not, came before an event."""
        wanted = identifier.lower()
        return self._stands(wanted, before) or (
            "-" in wanted and self._stands(wanted.replace("-", ""), before)
        )

    def _stands(self, wanted: str, before: int) -> bool:
        if any(number < before and wanted in runs for number, runs in self._new):
            return True
        at = self._text.find(wanted)
        while at >= 0:
            part = bisect_right(self._ends, at)
            if self._numbers[part] < before:
                return True
            at = self._text.find(wanted, self._ends[part])
        return False

    def _merge(self) -> None:
        """Into one text, which is quick to search: seldom, for each time it is copied."""
        for number, runs in self._new:
            self._numbers.append(number)
            self._ends.append((self._ends[-1] if self._ends else 0) + len(runs))
        self._text += "".join(runs for _, runs in self._new)
        self._new.clear()
        self._new_size = 0


def _runs(text: str) -> set[str]:
    return {run for run in _RUN.findall(text.lower()) if len(run) > 15 or not run.isalpha()}


def texts_of(documents: Iterable[bytes]) -> Iterator[str]:
    """The texts of a reply, or of the messages of a conversation, each decoded of its coding.

    Besides each as it is: what stands at one place of document after document, joined. Streams
    give a text in pieces, and an identifier of the model's own comes cut in two.
    """
    places: dict[tuple[str, ...], list[str]] = {}
    for document in documents:
        yield document.decode("utf-8", "replace")
        for text in _events(document):
            _gather(text, places)
    yield from ("".join(pieces) for pieces in places.values() if len(pieces) > 1)


def _events(document: bytes) -> Iterator[str | bytes]:
    if b"data:" in document:
        yield from (event.data for event in sse.events(document))
    elif document[:1] in (b"{", b"["):
        yield from document.split(b"\n")


def _gather(text: str | bytes, places: dict[tuple[str, ...], list[str]]) -> None:
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return
    waiting: list[tuple[tuple[str, ...], object]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, str):
            places.setdefault(path, []).append(item)
        elif len(path) < _DEPTH and isinstance(item, dict):
            waiting.extend(((*path, key), inner) for key, inner in item.items())
        elif len(path) < _DEPTH and isinstance(item, list):
            waiting.extend((path, inner) for inner in reversed(item))
