"""Server-sent events (WHATWG HTML, section 9.2.6): a view of a body that is, or was, a stream.

Bytes in, events out; the bytes on the tape stay as they came. Nothing is refused: a line that means
nothing is passed over, as the standard says.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_NUMBER = re.compile(r"[0-9]{1,18}")
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event. `start` and `end` are the offsets of its bytes in the stream.

    `last_id` is the last `id` seen in the stream up to here; `retry` the reconnection time in
    milliseconds where this event set one. `complete` is false for what came after the last empty
    line: a client drops it (section 9.2.6, "incomplete"), an investigator wants to see it.
    """

    data: str
    name: str
    last_id: str
    retry: int | None
    start: int
    end: int
    complete: bool = True


def events(body: bytes | Iterable[bytes]) -> Iterator[ServerSentEvent]:
    """The events of a body, given whole or in pieces as they come.

    Events without data are left out, as clients leave them out. An event cut by the body's end is
    given last, as incomplete.
    """
    parser = SseParser()
    for piece in [body] if isinstance(body, bytes) else body:
        yield from parser.feed(piece)
    yield from parser.end()


class SseParser:
    """Events out of a stream that comes in pieces."""

    __slots__ = ("_block", "_buffer", "_last_id", "_offset", "_searched")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._offset = 0
        self._last_id = ""
        self._block = _Block(0)

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Take the stream's next bytes; returns the events they complete."""
        self._buffer += piece
        found: list[ServerSentEvent] = []
        at = 0
        ends = [match.span() for match in _LINE_END.finditer(self._buffer, self._searched)]
        for start, end in ends:
            if end == len(self._buffer) and self._buffer.endswith(b"\r"):
                break  # the LF of a CR LF may still come
            found += self._line(bytes(self._buffer[at:start]), end)
            at = end
        self._drop(at)
        return found

    def end(self) -> list[ServerSentEvent]:
        """The stream is over: what is left of it."""
        found: list[ServerSentEvent] = []
        if self._buffer:
            found += self._line(bytes(self._buffer).removesuffix(b"\r"), len(self._buffer))
            self._drop(len(self._buffer))
        if self._block.data:
            found.append(self._block.event(self._last_id, self._offset, complete=False))
        self._block = _Block(self._offset)
        return found

    def _drop(self, size: int) -> None:
        del self._buffer[:size]
        self._offset += size
        self._searched = max(0, len(self._buffer) - 1)

    def _line(self, line: bytes, end: int) -> Iterator[ServerSentEvent]:
        if self._offset == 0 and self._block.first_line:
            line = line.removeprefix(_MARK)
        self._block.first_line = False
        if line:
            self._last_id = self._block.take(line, self._last_id)
            return
        block, self._block = self._block, _Block(self._offset + end)
        if block.data:
            yield block.event(self._last_id, self._offset + end, complete=True)


class _Block:
    """The lines of one event."""

    __slots__ = ("data", "first_line", "name", "retry", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.first_line = start == 0
        self.data: list[str] = []
        self.name = ""
        self.retry: int | None = None

    def take(self, line: bytes, last_id: str) -> str:
        """Note one field; returns the last id as it is now."""
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self.data.append(value)
        elif name == "event":
            self.name = value
        elif name == "id" and "\0" not in value:
            return value
        elif name == "retry" and _NUMBER.fullmatch(value):
            self.retry = int(value)
        return last_id

    def event(self, last_id: str, end: int, *, complete: bool) -> ServerSentEvent:
        name = self.name or "message"
        data = "\n".join(self.data)
        return ServerSentEvent(data, name, last_id, self.retry, self.start, end, complete)
